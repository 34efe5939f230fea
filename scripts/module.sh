#!/usr/bin/env bash
# module.sh installs the commit that is checked out as `go install github.com/dlxtop/dlxtop@v1.0.0` would, from a module
# proxy in a folder (bin/proxy), and says what a user downloads. The tag is made in a clone, and gone with it. It fails
# when the module holds what the build does not need.
set -euo pipefail
cd "$(dirname "$0")/.."
module=github.com/dlxtop/dlxtop version=v1.0.0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
git clone -q . "$work/clone"
git -C "$work/clone" tag -f "$version" >/dev/null
printf '[url "file://%s"]\n\tinsteadOf = https://%s\n[safe]\n\tdirectory = *\n' "$work/clone" "$module" >"$work/gitconfig"
# Go itself makes the module of the tag, as a proxy does.
GIT_CONFIG_GLOBAL=$work/gitconfig GOMODCACHE=$work/cache GOPROXY=direct GOSUMDB=off GOFLAGS= \
	go mod download "$module@$version"
rm -rf bin/proxy
mkdir -p "bin/proxy/$(dirname "$module")"
cp -r "$work/cache/cache/download/$module" "bin/proxy/$module"
zip=bin/proxy/$module/@v/$version.zip
unzip -l "$zip" | awk -v prefix="$module@$version/" '
	NR > 3 && $4 != "" { name = substr($4, length(prefix) + 1); sub("/.*", "", name); size[name] += $1; all += $1 }
	END { for (n in size) printf "%9d  %s\n", size[n], n; printf "%9d  all\n", all }' | sort -n
if unzip -l "$zip" | grep -E "@$version/(screenshots|clients/apps|tools)/"; then
	echo "module.sh: this is not needed to build dlxtop" >&2
	exit 1
fi
echo "the module's zip has $(stat -c %s "$zip") bytes"
# Every run has another v1.0.0: goindex=0 keeps Go from using its index of an earlier one.
GOBIN=$work/bin GOPROXY="file://$PWD/bin/proxy,$(go env GOPROXY)" GONOSUMDB=$module GOFLAGS= GOMODCACHE=$(go env GOMODCACHE) \
	GODEBUG=goindex=0 CGO_ENABLED=0 go install "$module@$version"
"$work/bin/dlxtop" version
chmod -R u+w "$(go env GOMODCACHE)/$module@$version"
rm -rf "$(go env GOMODCACHE)/$module@$version" "$(go env GOMODCACHE)/cache/download/$module/@v/$version".*
