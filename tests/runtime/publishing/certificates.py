"""An authority and a broker's certificate from it, made for one test."""

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path, address: str = "127.0.0.1") -> None:
    """Write ``ca.pem``, and ``broker.pem`` with ``broker.key`` for a broker at an address."""
    authority, broker = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    place = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    (folder / "ca.pem").write_bytes(_certificate("authority", authority, authority, x509.BasicConstraints(True, 0)))
    (folder / "broker.pem").write_bytes(_certificate("broker", broker, authority, place))
    (folder / "broker.key").write_bytes(
        broker.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )


def _certificate(
    name: str, key: EllipticCurvePrivateKey, authority: EllipticCurvePrivateKey, extension: x509.ExtensionType
) -> bytes:
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    )
    return builder.sign(authority, SHA256()).public_bytes(Encoding.PEM)
