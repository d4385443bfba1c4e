/**
 * Part of a comment, which is plain text: text, link or mentioned user. The texts of all parts, concatenated, are the
 * text of the comment.
 */
export type CommentPart =
  | { kind: "text"; text: string }
  | { kind: "link"; text: string; href: string }
  | { kind: "person"; text: string };

/** http and https URLs, without quotes and markup characters. */
const URL_PATTERN = /https?:\/\/[^\s<>"'`\\^{}|]+/gi;
const TRAILING_PUNCTUATION = new Set(".,;:!?)]*_~");
const LONGEST_URL = 2000;

/** Return whether the closing brackets of a URL are balanced, as in `/wiki/Futex_(Linux)`. */
const hasBalancedBrackets = (text: string) => text.split("(").length >= text.split(")").length;

/** Return the link of a matched URL without trailing punctuation, or undefined if it is not a valid URL. */
function linkOf(match: string): { text: string; href: string } | undefined {
  let text = match;
  while (TRAILING_PUNCTUATION.has(text.at(-1) ?? "") && !(text.endsWith(")") && hasBalancedBrackets(text)))
    text = text.slice(0, -1);
  if (text.length > LONGEST_URL) return undefined;
  try {
    const url = new URL(text);
    // A user name in a URL (`good.example@evil.example`) can disguise its host.
    if (
      (url.protocol !== "http:" && url.protocol !== "https:") ||
      url.username ||
      url.password ||
      !url.hostname
    )
      return undefined;
    return { text, href: url.href };
  } catch {
    return undefined;
  }
}

/** Split a text at each `@name` that is a whole word. `names` are the names that the server recognized. */
function splitAtMentions(text: string, names: readonly string[]): CommentPart[] {
  const sorted = [...names].sort((a, b) => b.length - a.length);
  const pieces: CommentPart[] = [];
  let from = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    if (at < from || /[\p{L}\p{N}_.+\-@]/u.test(text[at - 1] ?? "")) continue;
    const rest = text.slice(at + 1);
    const name = sorted.find(
      (item) =>
        rest.slice(0, item.length).toLowerCase() === item.toLowerCase() &&
        !/[\p{L}\p{N}_@]/u.test(rest[item.length] ?? ""),
    );
    if (!name) continue;
    if (at > from) pieces.push({ kind: "text", text: text.slice(from, at) });
    pieces.push({ kind: "person", text: text.slice(at, at + 1 + name.length) });
    from = at + 1 + name.length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}

export function splitComment(text: string, names: readonly string[]): CommentPart[] {
  const pieces: CommentPart[] = [];
  let from = 0;
  for (const match of text.matchAll(URL_PATTERN)) {
    const link = linkOf(match[0]);
    if (!link) continue;
    pieces.push(...splitAtMentions(text.slice(from, match.index), names), { kind: "link", ...link });
    from = match.index + link.text.length;
  }
  pieces.push(...splitAtMentions(text.slice(from), names));
  return pieces;
}

/** Return the text between the last `@` and the caret, and the index of the `@`, while the user types a mention. */
export function findMentionPrefix(text: string, caret: number): { at: number; typed: string } | undefined {
  const before = text.slice(0, caret);
  const at = before.lastIndexOf("@");
  if (at < 0 || /[\p{L}\p{N}_.+\-@]/u.test(before[at - 1] ?? "")) return undefined;
  const typed = before.slice(at + 1);
  return typed.length <= 40 && !/[\n,;:()]/.test(typed) ? { at, typed } : undefined;
}
