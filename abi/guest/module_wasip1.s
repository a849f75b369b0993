// Declares setGCPercent of module_wasip1.go as a function without a body.
