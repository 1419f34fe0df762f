#!/bin/sh
# FreeCAD of a Debian release in a folder of its own: freecad.sh FOLDER [SUITE]
#
# Debian has FreeCAD 1.0.0 in trixie and 1.1 in sid. Needs root, debootstrap, and 3 GB. Programs
# `freecadcmd` and `freecad` that run there, the second one on a screen in memory, come into
# FOLDER/bin: put that in front of PATH. They see the project and /tmp at the paths they have here.
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
suite=${2:-sid}
root=$folder/$suite
project=$(cd "$(dirname "$0")/../.." && pwd)
late="-o Acquire::Check-Valid-Until=false"
if [ ! -e "$root/ready" ]; then
    debootstrap --variant=minbase --components=main "$suite" "$root" http://deb.debian.org/debian \
        "$(ls /usr/share/debootstrap/scripts/"$suite" 2>/dev/null || echo /usr/share/debootstrap/scripts/sid)"
    chroot "$root" sh -c "apt-get -qq $late update; DEBIAN_FRONTEND=noninteractive apt-get -qq -y $late \
        install --no-install-recommends freecad freecad-python3 python3-lxml python3-networkx python3-numpy \
        python3-pip python3-rich python3-scipy python3-yaml xauth xvfb"
    chroot "$root" python3 -m pip install --quiet --break-system-packages --no-deps trimesh
    ln -s "$project/regularize" "$root/usr/lib/python3/dist-packages/regularize"
    for mod in Mod v1-1/Mod; do
        mkdir -p "$root/root/.local/share/FreeCAD/$mod"
        ln -s "$project/assets/editors/freecad/Regularize" "$root/root/.local/share/FreeCAD/$mod/"
    done
    touch "$root/ready"
fi
for place in /proc /dev /tmp "$project"; do
    mkdir -p "$root$place"
    mountpoint -q "$root$place" || mount --bind "$place" "$root$place"
done
mkdir -p "$folder/bin"
common="HOME=/root PYTHONDONTWRITEBYTECODE=1"
printf '#!/bin/sh\nexec chroot %s env %s QT_QPA_PLATFORM=offscreen freecadcmd "$@"\n' \
    "$root" "$common" >"$folder/bin/freecadcmd"
printf '#!/bin/sh\nexec chroot %s env %s QT_QPA_PLATFORM=xcb LIBGL_ALWAYS_SOFTWARE=1 xvfb-run -a -s "-screen 0 1600x1000x24" freecad "$@"\n' \
    "$root" "$common" >"$folder/bin/freecad"
chmod +x "$folder/bin/freecadcmd" "$folder/bin/freecad"
echo "$folder/bin"
