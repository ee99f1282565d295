#!/bin/sh
# install.sh PYTHON OPTIONS: the packages of lock files, each checked by its hash, into the environment of PYTHON. uv does it in
# seconds; of pip's settings it is told the index alone, so what it does not get is left to pip, which also says why.
python=$1
shift
locked="--quiet --no-deps --require-hashes"
index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null)}}
if [ -x .venv/bin/uv ] && UV_DEFAULT_INDEX=$index .venv/bin/uv pip install --python "$python" $locked "$@"; then exit 0; fi
exec "$python" -m pip install --disable-pip-version-check $locked "$@"
