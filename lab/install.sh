#!/bin/sh
# Installs the pinned real harnesses of package.json under lab/node_modules.
# Quick when nothing changed; run it again after every change of package-lock.json.
set -eu
cd "$(dirname "$0")"

fail() {
	echo "lab: $1" >&2
	exit 1
}

command -v node >/dev/null 2>&1 || fail "node is not on PATH. Install Node 20 or newer, then run lab/install.sh again."
command -v npm >/dev/null 2>&1 || fail "npm is not on PATH. Install the npm that comes with Node 20 or newer, then run lab/install.sh again."
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || fail "node $(node --version) is too old. Install Node 20 or newer, then run lab/install.sh again."

# What the installed tree depends on: the lock file, the settings, and the platform,
# because the harnesses are native programs that come as optional packages.
wanted=$(cat package.json package-lock.json .npmrc | node -e '
	const hash = require("crypto").createHash("sha256");
	hash.update(process.platform + "-" + process.arch + "\n" + require("fs").readFileSync(0));
	console.log(hash.digest("hex"));
')
stamp=node_modules/.ao-host-lab

# complete says whether the program of every pinned version is there.
complete() {
	node -e '
		const fs = require("fs"), path = require("path");
		const suffix = process.platform + "-" + process.arch;
		for (const [alias, spec] of Object.entries(require("./package.json").dependencies)) {
			const pinned = /^npm:@openai\/codex@(.+)$/.exec(spec);
			if (!pinned) continue;
			const found = [path.join("node_modules", alias, "node_modules"), "node_modules"].some((dir) => {
				const pkg = path.join(dir, "@openai", "codex-" + suffix);
				try {
					if (JSON.parse(fs.readFileSync(path.join(pkg, "package.json"))).version !== pinned[1] + "-" + suffix) return false;
					return fs.readdirSync(path.join(pkg, "vendor")).some((v) => fs.existsSync(path.join(pkg, "vendor", v, "bin", "codex")));
				} catch {
					return false;
				}
			});
			if (!found) {
				console.error("lab: " + alias + " has no program for " + suffix + " under lab/node_modules");
				process.exit(1);
			}
		}
	'
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && complete; then
	echo "lab: up to date"
	exit 0
fi

rm -f "$stamp"
# --include=optional: a user's own npm settings must not leave the programs out.
npm ci --include=optional --ignore-scripts || fail "npm ci failed; see its output above. It needs a registry (npm config get registry) and about 1 GB of disk."
complete || fail "npm left a program out. Remove lab/node_modules and run lab/install.sh again; check that npm does not omit optional packages."
echo "$wanted" >"$stamp"
echo "lab: installed"
