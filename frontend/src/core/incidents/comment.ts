/**
 * A comment is plain text. These are the pieces that a screen makes of it: words, addresses that may be opened, and
 * people who are named. Joined again they are the text, character by character.
 */
export type CommentPart =
  | { kind: "text"; text: string }
  | { kind: "link"; text: string; href: string }
  | { kind: "person"; text: string };

/** http and https alone, and nothing that could stand for a quote, a bracket or the end of a sentence. */
const URL_PATTERN = /https?:\/\/[^\s<>"'`\\^{}|]+/gi;
const TRAILING = new Set(".,;:!?)]*_~");
const LONGEST_URL = 2000;

/** Whether the last bracket belongs to the address, as in that of an article on Futex_(Linux). */
const closes = (text: string) => text.split("(").length >= text.split(")").length;

/** What may be opened of a piece of text that looks like an address; undefined where it is none. */
function linkOf(match: string): { text: string; href: string } | undefined {
  let text = match;
  while (TRAILING.has(text.at(-1) ?? "") && !(text.endsWith(")") && closes(text))) text = text.slice(0, -1);
  if (text.length > LONGEST_URL) return undefined;
  try {
    const url = new URL(text);
    // A name before the host shows one address and leads to another.
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

/** Where `@name` is a whole word, for the names that the server has recognized. */
function peopleIn(text: string, names: readonly string[]): CommentPart[] {
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
    pieces.push(...peopleIn(text.slice(from, match.index), names), { kind: "link", ...link });
    from = match.index + link.text.length;
  }
  pieces.push(...peopleIn(text.slice(from), names));
  return pieces;
}

/** The beginning of a name that is being typed behind `@`, at the caret. */
export function mentionPrefix(text: string, caret: number): { at: number; typed: string } | undefined {
  const before = text.slice(0, caret);
  const at = before.lastIndexOf("@");
  if (at < 0 || /[\p{L}\p{N}_.+\-@]/u.test(before[at - 1] ?? "")) return undefined;
  const typed = before.slice(at + 1);
  return typed.length <= 40 && !/[\n,;:()]/.test(typed) ? { at, typed } : undefined;
}
