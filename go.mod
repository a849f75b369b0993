module github.com/aoagents/ao-host

go 1.26.0

toolchain go1.26.8
