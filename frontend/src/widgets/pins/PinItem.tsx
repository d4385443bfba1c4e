import { FileText, Flame, GitCompareArrows, type LucideIcon, Rows3, UnfoldHorizontal } from "lucide-react";
import type { ReactNode } from "react";
import type { Incident, Pin, PinKind } from "../../client/models";
import { Link } from "../../components/Link";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { RelativeTime } from "../../components/text/RelativeTime";
import { pinText } from "../../core/incidents/pinText";
import { parseSearch } from "../../core/search";
import { formatDuration } from "../../core/text/format";
import { usePinCheck } from "../../lib/incidents/incidents";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Pin.module.css";

const ICONS: Record<PinKind, LucideIcon> = {
  range: UnfoldHorizontal,
  frame: Flame,
  row: Rows3,
  line: FileText,
  comparison: GitCompareArrows,
};

const TONES: Record<"intact" | "altered" | "gone", Tone> = { intact: "ok", altered: "bad", gone: "bad" };
/** Link to the view of a pin. Only paths of this site are links; other views are text. */
export function ViewLink({ view, children }: { view: string; children: ReactNode }) {
  if (!/^\/(?!\/)/.test(view)) return <span>{children}</span>;
  const [path = "/", query = ""] = view.split("?");
  return (
    <Link to={path as "/"} search={parseSearch(query)} className={classes.link ?? ""}>
      {children}
    </Link>
  );
}

interface Props {
  incident: Pick<Incident, "id" | "hosts" | "origin">;
  pin: Pin;
  /** Actions for the pin, at the right. */
  action?: ReactNode;
  /** Verify the artifact of the pin against its digest. */
  check?: boolean;
}

/** Render a pin: kind, content when pinned, author, and integrity. */
export function PinItem({ incident, pin, action, check = true }: Props) {
  const { t } = useTranslation();
  const Icon = ICONS[pin.kind] ?? FileText;
  const time = useTimeFormat();
  const texts = [pin.kind === "range" ? rangeText(pin.ref, time) : "", pinText(pin.snapshot)]
    .filter(Boolean)
    .join("\n");
  const host = incident.hosts.length > 1 && incident.hosts.find((host) => host.id === pin.snapshot.host_id);
  return (
    <li className={classes.pin}>
      <Icon size={14} aria-hidden />
      <span className={classes.link}>
        <ViewLink view={pin.view}>{t(`incidents.pin.kind.${pin.kind}`)}</ViewLink>
        {host && <span className="mono dim"> {host.name}</span>}
        {texts && <code className={classes.snapshot}>{texts}</code>}
      </span>
      {action ?? <span />}
      <span className={classes.meta}>
        <span>{pin.by?.name ?? incident.origin?.authors[pin.id] ?? "Culprit"}</span>
        <RelativeTime at={pin.created_at} />
        {check && <PinIntegrity incidentId={incident.id} pinId={pin.id} />}
      </span>
    </li>
  );
}

/** Return the text of a time range, such as `02:14:03.2 – 02:14:05.0 · 1.8 s`. */
function rangeText(ref: Pin["ref"], time: ReturnType<typeof useTimeFormat>): string {
  const [from, to] = [Number(ref.from_ns), Number(ref.to_ns)];
  if (!(to > from)) return "";
  const step = (to - from) / 100;
  return `${time.instant(from, step)} – ${time.time(to, step)} · ${formatDuration(to - from)}`;
}

function PinIntegrity({ incidentId, pinId }: { incidentId: string; pinId: string }) {
  const { t } = useTranslation();
  const { data } = usePinCheck(incidentId, pinId);
  if (!data?.state) return null;
  return (
    <StatusIcon tone={TONES[data.state]} title={t(`incidents.pin.stateMeaning.${data.state}`)}>
      {t(`incidents.pin.state.${data.state}`)}
    </StatusIcon>
  );
}
