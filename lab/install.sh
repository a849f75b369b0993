#!/bin/sh
# Installs the pinned real harnesses of package.json under lab/node_modules (1.9 GB).
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
		const version = (pkg) => { try { return JSON.parse(fs.readFileSync(path.join(pkg, "package.json"))).version } catch { return "" } };
		const programs = {
			"@openai/codex": (at, alias) => [path.join("node_modules", alias, "node_modules"), "node_modules"].some((dir) => {
				const pkg = path.join(dir, "@openai", "codex-" + suffix);
				return version(pkg) === at + "-" + suffix &&
					fs.readdirSync(path.join(pkg, "vendor")).some((v) => fs.existsSync(path.join(pkg, "vendor", v, "bin", "codex")));
			}),
			"@agentclientprotocol/claude-agent-acp": (at, alias) => [path.join("node_modules", alias, "node_modules"), "node_modules"].some((dir) =>
				["", "-musl"].some((libc) => fs.existsSync(path.join(dir, "@anthropic-ai", "claude-agent-sdk-" + suffix + libc, "claude")))),
			"@xai-official/grok": (at) => fs.existsSync(path.join("node_modules", ".grok-" + at, "bin", "grok-" + at)),
		};
		let missing = 0;
		for (const [alias, spec] of Object.entries(require("./package.json").dependencies)) {
			const [, name, at] = /^npm:(.+)@(.+)$/.exec(spec);
			if (version(path.join("node_modules", alias)) !== at || !programs[name](at, alias)) {
				console.error("lab: " + alias + " has no program for " + suffix + " under lab/node_modules");
				missing++;
			}
		}
		process.exit(missing ? 1 : 0);
	'
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && complete; then
	echo "lab: up to date"
	exit 0
fi

rm -f "$stamp"
# --include=optional: a user's own npm settings must not leave the programs out.
# Node 22, which one of the harnesses needs, is one of the packages: its warning says nothing.
npm ci --include=optional --ignore-scripts --loglevel=error || fail "npm ci failed; see its output above. It needs a registry (npm config get registry) and about 2 GB of disk."

# Grok's program comes compressed and its own install script unpacks it into its home, next
# to a configuration. The lab gives it a home beside the packages, and only the program is
# used from there. The script takes what it cannot do for a success; complete decides.
grok=$(node -p 'require("./package.json").dependencies["grok-10"].split("@").pop()')
GROK_HOME="$PWD/node_modules/.grok-$grok" node node_modules/grok-10/bin/postinstall.js >/dev/null ||
	fail "Grok's install script failed; see its output above. It needs about 170 MB of disk."

complete || fail "npm left a program out. Remove lab/node_modules and run lab/install.sh again; check that npm does not omit optional packages."
echo "$wanted" >"$stamp"
echo "lab: installed"
