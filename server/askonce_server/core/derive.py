"""From a request to the fingerprints of each matcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from askonce_server.core import keys
from askonce_server.core.canonical import encode
from askonce_server.core.descriptor import Descriptor, Digests
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.guards import Token
from askonce_server.core.material import bare_text, context, material, normalized, semantic_context
from askonce_server.core.outline import outline
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import KeyPolicy
from askonce_server.core.turns import inner_ends, prefill, prose, user_texts
from askonce_server.core.white_space import WHITE_SPACE, are_plain, fold, fold_prose

_EXACT = Matcher.EXACT
"""Looking a member up in its enum takes longer than all else that is done to tell the matchers apart."""


@dataclass(frozen=True, slots=True)
class SemanticSurface:
    """What the semantic matcher needs: the text to embed, and the digest of all that is not embedded."""

    text: str
    context: bytes


class Derivation:
    """The fingerprints of one request under one key policy, each derived when it is first asked for.

    `parts` is the content; after `forget` it is read anew with `reload` when it is needed again. Raises
    Unrepresentable when the content has no canonical form. Safe to share between threads.
    """

    __slots__ = (
        "_content",
        "_descriptor",
        "_exact_material",
        "_fingerprints",
        "_outline",
        "_parts",
        "_policy",
        "_reload",
        "_stream",
    )

    def __init__(
        self,
        descriptor: Descriptor,
        policy: KeyPolicy,
        *,
        stream: bool,
        parts: Parts | None,
        reload: Callable[[], Parts | None],
    ) -> None:
        self._descriptor = descriptor
        self._policy = policy
        self._stream = stream
        self._parts = parts
        self._reload = reload
        self._content: dict[str, JsonValue] | None = None
        self._exact_material = b""
        self._fingerprints: dict[Matcher, bytes | BypassReason] = {}
        self._outline: tuple[int, bytes] | None = None

    def fingerprint(self, matcher: Matcher) -> bytes | BypassReason:
        """Return the 32-byte fingerprint for an exact or normalized `matcher`, or why it has none."""
        known = self._fingerprints.get(matcher)
        if known is None:
            known = self.material(matcher)
            if isinstance(known, bytes):
                known = keys.fingerprint(
                    self._descriptor, self._policy, matcher, material=known, stream=self._stream
                )
            self._fingerprints[matcher] = known
        return known

    def outline(self, token: Token) -> bytes:
        """Return what is kept of the request beside its answer, to explain later misses by.

        `token` hashes texts under the store's key; the outline is made anew when that is another one.
        """
        known, key = self._outline, token("")
        if known is None or known[0] != key:
            descriptor, policy = self._descriptor, self._policy
            digests = isinstance(descriptor.content, Digests)
            tree = context(descriptor, policy) if digests else self._tree()
            made = outline(tree, descriptor, policy, stream=self._stream, token=token)
            known = self._outline = key, made
        return known[1]

    def forget(self) -> None:
        """Let go of the content; what was derived from it stays known."""
        self._parts = None
        self._content = None
        self._exact_material = b""

    def _tree(self) -> dict[str, JsonValue]:
        # Threads share a derivation, and one may forget while another reads: each field is read once.
        tree = self._content
        if tree is None:
            parts = self._parts
            if parts is None:
                parts = self._reload()
            if parts is None:
                raise Unrepresentable
            tree = self._content = material(parts, self._descriptor, self._policy)
        return tree

    def material(self, matcher: Matcher) -> bytes | BypassReason:
        """Return the canonical material of an exact or normalized `matcher`, or why it has none."""
        content = self._descriptor.content
        if isinstance(content, Digests):
            return self._material_of_digests(content, matcher)
        if matcher is not _EXACT:
            return self._normalized()
        known = self._exact_material
        if not known:
            known = self._exact_material = encode(self._tree())
        return known

    def semantic(self) -> SemanticSurface | BypassReason:
        """Return the semantic surface, or why the semantic matcher cannot be asked."""
        if isinstance(self._descriptor.content, Digests):
            return BypassReason.NO_EMBEDDABLE_TEXT
        content, last = self._tree(), self._policy.history_max_messages
        turns = user_texts(content.get("messages"))
        if last and len(turns) > last and self._policy.history_overflow == "reject":
            return BypassReason.HISTORY_TOO_LONG
        if not turns or not fold("".join(turns[-1])):
            return BypassReason.NO_EMBEDDABLE_TEXT
        text = "\n".join(text for turn in (turns[-last:] if last else turns) for text in turn)
        tree = semantic_context(content, history_max_messages=last)
        context_digest = keys.fingerprint(
            self._descriptor, self._policy, Matcher.SEMANTIC, material=encode(tree), stream=self._stream
        )
        return SemanticSurface(text, context_digest)

    def _normalized(self) -> bytes | BypassReason:
        tree, policy = self._tree(), self._policy
        bare = bare_text(self._descriptor)
        texts = prose(tree.get("messages"), tree.get("system"), bare_text=bare)
        if not policy.case_fold and are_plain(texts):
            return self.material(_EXACT)
        change = fold_prose if policy.normalized_guard else fold
        if policy.normalized_guard and self._meets_more(tree):
            return BypassReason.WHITESPACE_SIGNIFICANT
        same = not policy.case_fold
        for text in texts:
            folded = change(text)
            if folded is None:
                return BypassReason.WHITESPACE_SIGNIFICANT
            same = same and folded is text
        if same:
            return self.material(_EXACT)
        return encode(normalized(tree, bare_text=bare, case_fold=policy.case_fold))

    def _meets_more(self, tree: dict[str, JsonValue]) -> bool:
        """Whether white space stands where a text goes on: in the next part, the answer, or a vector."""
        messages, system = tree.get("messages"), tree.get("system")
        if self._descriptor.endpoint == "embeddings":
            whole = prose(messages, system, bare_text=False)
        else:
            whole = prefill(messages)
        return any(fold(text) is not text for text in whole) or any(
            end in WHITE_SPACE for end in inner_ends(messages, system) if end
        )

    def _material_of_digests(self, digests: Digests, matcher: Matcher) -> bytes | BypassReason:
        sha = digests.exact_sha256 if matcher is Matcher.EXACT else digests.normalized_sha256
        if not sha:
            return BypassReason.UNREPRESENTABLE_CONTENT
        return keys.digests_material(
            sha,
            canonicalization=digests.canonicalization,
            canonicalization_version=digests.canonicalization_version,
            extra=encode(context(self._descriptor, self._policy)),
        )


DESCRIPTOR_FIELDS: Mapping[str, str] = {
    "dialect": "fingerprint",
    "endpoint": "fingerprint",
    "served": "fingerprint: provider and model under identity served and both",
    "requested": "fingerprint: provider and model under identity target; material under both",
    "route_id": "material: route under identity target and both",
    "route_version": "material: route under identity target and both",
    "rule_branch": "material: route under identity target and both",
    "stream": "fingerprint under stream separate",
    "scope": "scope: the rule's dims",
    "parts": "material",
    "body_json": "material",
    "digests": "material",
    "versions": "material",
    "headers": "material",
    "embedding": "not key material: the embedder's fingerprint is in the scope",
    "personalized": "not key material: decides eligibility",
    "attributes": "not key material: rule matching and traces",
}
"""Every field of the descriptor and where it goes. A field that nobody classified fails a test."""

CONTROLS_FIELDS: Mapping[str, str] = {
    "mode": "not key material: decides what may be read and written",
    "ttl": "not key material: kept with the entry",
    "namespace": "scope",
    "max_age": "not key material: judged against the entry",
    "min_fresh": "not key material: judged against the entry",
    "max_stale": "not key material: judged against the entry",
    "logging_disabled": "not key material: decides what may be written",
}
"""The same for the controls."""
