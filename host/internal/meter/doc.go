// Package meter checks a core WebAssembly module of a stranger and rewrites it
// so that the work it does is counted and can be interrupted.
//
// The engine cannot do this itself: wazero has no fuel, and its check for a
// done context makes calls 7–18 times slower (DESIGN §3). Because the counting
// is part of the module, every engine that runs the rewritten module reaches
// the same verdict at the same instruction.
//
// # What is charged
//
// One unit is charged at each function entry and each loop header, plus one
// unit for every full [CodeBytesPerUnit] bytes of the body that was entered, so
// that a long stretch of code without a loop is not free. A function that has
// nothing but plain instructions before its first loop is charged at the header
// of that loop only, for the whole of its body. Bulk instructions are charged by length before they run:
// one unit and one for every full [BulkBytesPerUnit] bytes or
// [BulkElementsPerUnit] table elements, memory.grow [GrowUnitsPerPage] for
// every page.
//
// # What is added to the module
//
//   - an import, [HostModule].[RefillImport] of type (i64) → (i64), called with
//     the negative counter when it runs out; it returns the new counter, or does
//     not return;
//   - two exported mutable globals, [FuelGlobal] (i64, the counter) and
//     [GrowDeniedGlobal] (i32, 1 after a memory.grow that failed), one function
//     that calls the import, and one type.
//
// A guest cannot name any of them: exports are visible to the host only, and
// every index the guest uses is checked against its own number of functions,
// globals, types and locals before the new ones exist.
package meter
