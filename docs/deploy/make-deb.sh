#!/bin/sh
# Makes a Debian package of a packed bundle: sh make-deb.sh NAME.tar VERSION "MAINTAINER <ADDRESS>"
# The same file gives the same package, with the times of SOURCE_DATE_EPOCH, or 0.
set -eu
tar=$1 version=$2 maintainer=$3
name=$(basename "$tar" .tar)
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"
umask 022
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
mkdir "$tree/DEBIAN"
install -D -m 644 "$tar" "$tree/var/cache/polydom/$name.tar"

cat > "$tree/DEBIAN/control" <<END
Package: polydom-bundle-$name
Version: $version
Architecture: all
Maintainer: $maintainer
Description: Poly-Dom bundle $name
END

cat > "$tree/DEBIAN/postinst" <<END
#!/bin/sh
set -e
if [ "\$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl start "polydom-install@$name"
fi
END
chmod 755 "$tree/DEBIAN/postinst"

dpkg-deb --root-owner-group --build "$tree" "polydom-bundle-${name}_${version}_all.deb"
