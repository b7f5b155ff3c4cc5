"""What made a result, in its XMP: properties of a namespace of ours, in a description of their own."""

from __future__ import annotations

import html
from collections.abc import Mapping

from pic_uie.images import xmp

_EMPTY = (
    b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/">\n'
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end="w"?>'
)


def with_provenance(packet: bytes | None, values: Mapping[str, str]) -> bytes:
    """Returns a packet that also has these properties; a packet that cannot be read stays as it is.

    What an earlier run said is not in the packet any more: `xmp.cleaned` takes out what describes the source alone.
    """
    packet = packet or _EMPTY
    place = xmp.end_of_descriptions(packet)
    if place is None:
        return packet
    at, prefix, about = place
    properties = "".join(f'\n  {_PREFIX}:{name}="{html.escape(value)}"' for name, value in values.items())
    element = (
        b"<%s:Description %s:about=%s" % (prefix, prefix, about)
        + f'\n  xmlns:{_PREFIX}="{xmp.PROVENANCE.decode()}"{properties}/>\n'.encode()
    )
    return packet[:at] + element + packet[at:]


_PREFIX = "picuie"
