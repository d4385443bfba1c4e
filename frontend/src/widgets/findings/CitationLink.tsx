import { VisuallyHidden } from "@mantine/core";
import { FileText, Flame } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "../../components/Link";
import type { SourceReference as Where } from "../../core/text/figures";
import { usePermission } from "../../lib/queries";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Findings.module.css";

/** Maximum number of lines in a link; further lines are omitted. */
const MAX_LINES = 40;
const VISIBLE_LINES = 3;

/** Return whether the frame of a citation is a plain name, searched literally, and not a regular expression. */
const isPlain = (frame: string): boolean => /^[\w:.~ -]+$/.test(frame);
const searchFor = (frame: string): string => (isPlain(frame) ? frame : `/${frame}/`);

/** Return a function that describes a source: `what` (collector or frame) and `where` (line numbers, or ""). */
function useCitationText() {
  const { t } = useTranslation();
  const names = useNames();
  return ({ collector = "", part = "", lines = [], frame, profile }: Where) => {
    const what = names.collector(collector) || part;
    if (profile) return { what: frame && !isPlain(frame) ? t("findings.frames") : frame || what, where: "" };
    const numbers = lines.slice(0, VISIBLE_LINES).join(", ") + (lines.length > VISIBLE_LINES ? ", …" : "");
    return { what, where: numbers && t("findings.line", { count: lines.length, numbers }) };
  };
}

interface Props {
  place: Where | undefined;
  className?: string | undefined;
  /** Meaning of the content, if the content does not state it. Screen readers read it after the content. */
  label?: string | undefined;
  /** Whether the content is part of an SVG, which cannot contain visually hidden text. */
  isSvg?: boolean;
  /** Process id of the number; the linked profile is filtered to its samples. */
  pid?: string | undefined;
  children: ReactNode;
}

/** Link a number to its source: the cited lines of an artifact, or a frame in a flame graph. */
export function CitedSource({ place, className, label, isSvg = false, pid, children }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const describePlace = useCitationText();
  const look = className ?? "";
  const nameLink = (action: string) => {
    const name = [label, action].filter(Boolean).join(": ");
    if (isSvg) return { "aria-label": name, children: <g aria-hidden>{children}</g> };
    // The accessible name of a link begins with its visible text.
    return {
      children: (
        <>
          {children}
          <VisuallyHidden>{` ${name}`}</VisuallyHidden>
        </>
      ),
    };
  };
  if (place?.profile)
    return (
      <Link
        to="/profiles/$profileId"
        params={{ profileId: place.profile }}
        search={{ q: place.frame ? searchFor(place.frame) : undefined, pid, idle: "1" }}
        className={look}
        title={place.frame ?? ""}
        {...nameLink(t("findings.openFrame", { frame: place.frame ?? "" }))}
      />
    );
  if (!place?.artifact) return <span className={look}>{children}</span>;
  if (!can("artifact.read"))
    return (
      <span className={look} title={t("findings.mayNotRead")}>
        {children}
      </span>
    );
  const lines = place.lines ?? [];
  const { what, where } = describePlace(place);
  const text = [what, where].filter(Boolean).join(" ");
  return (
    <Link
      to="/artifacts/$artifactId"
      params={{ artifactId: place.artifact }}
      search={{
        line: lines[0] ? String(lines[0]) : undefined,
        lines: lines.length > 1 ? lines.slice(0, MAX_LINES).join(",") : undefined,
        run: place.run || undefined,
      }}
      className={look}
      title={`${text} (${place.collector ?? ""}/${place.part ?? ""})`}
      {...nameLink(t("findings.openLine", { place: text }))}
    />
  );
}

/** Render a source as a link: the collector and its lines, or the frame. */
export function CitationLink({ place, label, pid }: Omit<Props, "className" | "children">) {
  const describePlace = useCitationText();
  if (!place) return null;
  const Icon = place.profile ? Flame : FileText;
  const { what, where } = describePlace(place);
  return (
    <CitedSource place={place} label={label} pid={pid} className={classes.citation}>
      <Icon size={12} aria-hidden />
      <span>{what}</span> {where && <span className={classes.lines}>{where}</span>}
    </CitedSource>
  );
}
