#!/usr/bin/env bash
# release.sh makes in dist/ all that a release consists of (docs/releasing.md), of the commit that is checked out. It
# needs git, Go and the modules that it downloads, and publishes nothing. Without a tag on the commit the version is
# 0.0.0-COMMIT.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "$(git status --porcelain)" ]; then
	echo "make release: commit or remove what git status lists first: a release is made of a commit" >&2
	exit 1
fi
flags=(--clean --skip=publish,announce)
if [ -z "$(git tag --points-at HEAD 'v*')" ]; then
	flags+=(--snapshot)
	echo "make release: no tag vVERSION on this commit, so the version is 0.0.0-$(git rev-parse --short HEAD)" >&2
fi
command -v nix-hash >/dev/null || PATH=$PATH:$PWD/scripts/release
export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false CGO_ENABLED=0
go build -o bin/packaged ./internal/packaged
go tool -modfile=tools/release/go.mod goreleaser release "${flags[@]}"
# What goreleaser notes of this run, and what is in the archives, is no part of a release.
rm -rf dist/config.yaml dist/metadata.json dist/artifacts.json dist/dlxtop_*/
cd dist && find . -type f -printf '%10s  %P\n' | sort -k 2
