import { FileText, Flame } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import type { Place as Where } from "../../core/figures";
import { useMay } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Findings.module.css";

/** No address holds more lines than this; the first are where the reader begins. */
const MAX_LINES = 40;
const SHOWN_LINES = 3;

/** The frames of a citation are a pattern; a plain name is searched as it stands, and is fit to be read. */
const isPlain = (frame: string): boolean => /^[\w:.~ -]+$/.test(frame);
const searchFor = (frame: string): string => (isPlain(frame) ? frame : `/${frame}/`);

/** Where a number stands, in a few words: the collector and its lines, or the frame of a profile. */
function usePlace() {
  const { t } = useTranslation();
  const names = useNames();
  return ({ collector = "", part = "", lines = [], frame, profile }: Where) => {
    const what = names.collector(collector) || part;
    if (profile) return { what: frame && !isPlain(frame) ? t("findings.frames") : frame || what, where: "" };
    const numbers = lines.slice(0, SHOWN_LINES).join(", ") + (lines.length > SHOWN_LINES ? ", …" : "");
    return { what, where: numbers && t("findings.line", { count: lines.length, numbers }) };
  };
}

interface Props {
  place: Where | undefined;
  className?: string | undefined;
  label: string;
  /** The process that the number is about: its share of a profile is seen among its own samples. */
  pid?: string | undefined;
  children: ReactNode;
}

/** One click from a number to where it was read: the lines of the artifact, marked, or the frame in its flame graph. */
export function Cited({ place, className, label, pid, children }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const placed = usePlace();
  const look = className ?? "";
  if (place?.profile)
    return (
      <Link
        to="/profiles/$profileId"
        params={{ profileId: place.profile }}
        search={{ q: place.frame ? searchFor(place.frame) : undefined, pid, idle: "1" } as never}
        className={look}
        aria-label={t("findings.openFrame", { what: label, frame: place.frame ?? "" })}
        title={place.frame ?? ""}
      >
        {children}
      </Link>
    );
  if (!place?.artifact) return <span className={look}>{children}</span>;
  if (!may("artifact.read"))
    return (
      <span className={look} title={t("findings.mayNotRead")}>
        {children}
      </span>
    );
  const lines = place.lines ?? [];
  const { what, where } = placed(place);
  const text = [what, where].filter(Boolean).join(" ");
  return (
    <Link
      to="/artifacts/$artifactId"
      params={{ artifactId: place.artifact }}
      search={
        {
          line: lines[0] ? String(lines[0]) : undefined,
          lines: lines.length > 1 ? lines.slice(0, MAX_LINES).join(",") : undefined,
          run: place.run || undefined,
        } as never
      }
      className={look}
      aria-label={t("findings.openLine", { what: label, place: text })}
      title={`${text} (${place.collector ?? ""}/${place.part ?? ""})`}
    >
      {children}
    </Link>
  );
}

/** The place itself, named. */
export function PlaceLink({ place, label, pid }: Omit<Props, "className" | "children">) {
  const placed = usePlace();
  if (!place) return null;
  const Icon = place.profile ? Flame : FileText;
  const { what, where } = placed(place);
  return (
    <Cited place={place} label={label} pid={pid} className={classes.place}>
      <Icon size={12} aria-hidden />
      {/* The space is for those who hear it: the name of a link holds what is read in it. */}
      <span>{what}</span> {where && <span className={classes.lines}>{where}</span>}
    </Cited>
  );
}
