import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { zstdDecompressSync } from "node:zlib";
import { cyclePayloads } from "./payloads";
import { REPOSITORY_DIR } from "./platform";

const BASE = `${REPOSITORY_DIR}/examples/busy-host.culprit`;
/** Recorded rounds with sessions of databases, log lines, files, threads and Java stacks. */
const ROUNDS = ["postgres-lock-wait-1228722198", "campsite-pitches-748610340", "tool-hooks-506658982"];
/** Binary recordings, whose text the other parts hold too. */
const BINARY_PARTS = new Set(["perf.data", "sched.data"]);
/** Sections of `/proc` and `/sys` whose content is free text. */
const TEXT_FILES = /^(\/proc\/version|\/etc\/os-release|\/proc\/cmdline|\/sys\/class\/dmi.*)$/;

interface Frame {
  header: string;
  fields: Record<string, string>;
  payload: Buffer;
}

type Next = () => string;
type Change = (text: string, next: Next) => string;

function* readFrames(data: Buffer): Generator<Frame> {
  for (let at = 0; at < data.length; ) {
    const end = data.indexOf(10, at);
    const header = data.subarray(at, end).toString();
    const fields = Object.fromEntries(
      [...header.matchAll(/(\w+)=(\S*)/g)].map(([, name, value]) => [name, value]),
    );
    const length = Number(fields.len);
    yield { header, fields, payload: data.subarray(end + 1, end + 1 + length) };
    at = end + 1 + length + 1;
  }
}

function writeFrame(fields: Record<string, string>, payload: Buffer): Buffer {
  const { kind, id, part, ...rest } = fields;
  const more = Object.entries({
    ...rest,
    len: payload.length,
    raw: payload.length,
    enc: "identity",
    sha256: createHash("sha256").update(payload).digest("hex"),
  });
  const header = `CULPRIT1 kind=${kind} id=${id} part=${part} ${more.map(([name, value]) => `${name}=${value}`).join(" ")}\n`;
  return Buffer.concat([Buffer.from(header), payload, Buffer.from("\n")]);
}

/** Return the files of a round of the corpus as [collector, part, content]; see docs/corpus.md. */
function readRound(name: string): [string, string, Buffer][] {
  const tar = zstdDecompressSync(readFileSync(`${REPOSITORY_DIR}/bench/corpus/${name}.tar.zst`));
  const files: [string, string, Buffer][] = [];
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const path = tar
      .subarray(at, at + 100)
      .toString()
      .replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.subarray(at + 124, at + 136).toString(), 8);
    const [, collector, part] = path.split("/");
    if (collector && part) files.push([collector, part, tar.subarray(at + 512, at + 512 + size)]);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

const TEXT_FIELDS =
  /(?<=\t(?:comm|parent_comm|title|query|what|path|file|other_file|mount|detail|cgroup|backend|wait_event|user|application|message|line|text|peer|address|device|name)=)[^\t\n]+/g;

const CHANGES: Record<string, Change> = {
  proc_top: (text, next) => text.replace(/^(\d+) \(.*\) /gm, (_, pid) => `${pid} (${next()}) `),
  kmsg: (text, next) => text.replace(/^(<\d+>\[[^\]]*\] ).*$/gm, (_, head) => head + next()),
  fd_table: (text, next) => text.replace(/^(F (?:\S+ ){5})\S.*$/gm, (_, head) => `${head}/srv/${next()}`),
  proc_mem: (text, next) => text.replace(/^(\d+ .* x ).*$/gm, (_, head) => head + next()),
  jstack: (text, next) =>
    text
      .replace(/^"[^"]*"/gm, () => `"${next().replaceAll('"', "'")}"`)
      .replace(/(\tat )\S+/g, (_, head) => head + next()),
  iostat: (text, next) =>
    text.replace(
      /("(?:nodename|disk_device|sysname)": ").*?"/g,
      (_, head) => `${head}${escapeJson(next())}"`,
    ),
  host_facts: (text, next) =>
    text.replace(/^(@ .* )(\/\S+)\n([^@]*)/gm, (all, head, file, content) =>
      TEXT_FILES.test(file)
        ? `${head}${file}\n${content.replace(/^(\w+=|).*$/gm, (_: string, name: string) => name + next())}\n`
        : all,
    ),
  mounts: (text, next) =>
    text.replace(
      /^((?:\d+ ){2}\S+ \S+ )(\S+)( .*)$/gm,
      (_, head, mount, tail) =>
        `${head}${mount === "/" ? mount : `/${next().replaceAll(" ", "\\040")}`}${tail}`,
    ),
};

const escapeJson = (text: string) => JSON.stringify(text).slice(1, -1);

const changeLastField: Change = (text, next) =>
  text.replace(/^([pt]\t.*\t)[^\t\n]+$/gm, (_, head) => head + next());

/** Put payloads into the comm, the symbols and the modules of `perf script` output, and into its event fields. */
export const changePerfScript: Change = (text, next) =>
  text
    .replace(/^( *)(\S.*?)( +\d+\/\d+ +\[)/gm, (_, indent, _comm, tail) => indent + next() + tail)
    .replace(/^(\s+[0-9a-f]+ )(.*) \((.*)\)$/gm, (_, head) => `${head}${next()} (/usr/lib/${next()})`)
    .replace(/(comm=)\S+/g, (_, head) => head + next());

/** Put a payload into each frame of folded stacks. */
export const changeFolded: Change = (text, next) =>
  text.replace(/^(.*) (\d+)$/gm, (_, stack: string, count) => {
    const frames = stack.split(";").map(() => next().replaceAll(";", ""));
    return `${frames.join(";")} ${count}`;
  });

function changePart(collector: string, part: string, text: string, next: Next): string {
  if (part === "script.txt") return changePerfScript(text, next);
  if (part.endsWith(".folded")) return changeFolded(text, next);
  const change = CHANGES[collector];
  if (change) return change(text, next);
  return changeLastField(text.replace(TEXT_FIELDS, next), next);
}

/**
 * Return a bundle of a capture in which all names, paths, commands, statements and log lines are payloads. `salt`
 * changes which payload is in which place.
 */
export function buildHostileBundle(salt: number): Buffer {
  const next = cyclePayloads(salt, (text) => text.replaceAll(/[\n\r]/g, " "));
  const frames: Buffer[] = [];
  const collectors = new Set<string>();
  let outcome: Record<string, string> | undefined;
  let end: Buffer = Buffer.alloc(0);
  for (const { fields, payload } of readFrames(readFileSync(BASE))) {
    const { kind = "", id = "", part = "" } = fields;
    if (kind === "end") end = writeFrame(fields, payload);
    else if (kind === "part") {
      if (BINARY_PARTS.has(part)) continue;
      const plain = fields.enc === "zstd" ? zstdDecompressSync(payload) : payload;
      frames.push(writeFrame(fields, Buffer.from(changePart(id, part, plain.toString(), next))));
    } else if (kind === "outcome") {
      collectors.add(id);
      outcome ??= fields;
      const lines = `argv ${next()}\nversion ${next()}\nstderr\n${next()}\n${next()}\n`;
      frames.push(writeFrame(fields, Buffer.from(lines)));
    } else frames.push(writeFrame(fields, payload));
  }
  const base = new Set(collectors);
  for (const [collector, part, content] of ROUNDS.flatMap(readRound)) {
    if (base.has(collector) || frames.length > 400) continue;
    const fields = { kind: "part", id: collector, part, complete: "1" };
    if (collectors.has(`${collector}/${part}`)) continue;
    collectors.add(`${collector}/${part}`);
    frames.push(writeFrame(fields, Buffer.from(changePart(collector, part, content.toString(), next))));
    if (!collectors.has(collector)) {
      collectors.add(collector);
      frames.push(
        writeFrame({ ...outcome, id: collector }, Buffer.from(`argv ${next()}\nversion 1\nstderr\n`)),
      );
    }
  }
  return Buffer.concat([...frames, end]);
}
