import { Anchor, Popover } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { memo, useMemo, useState } from "react";
import { Link } from "../../../components/Link";
import { chooseTone } from "../../../components/StatusIcon";
import { clusterByPosition } from "../../../core/charts/tracks";
import { cx } from "../../../core/cx";
import { formatDuration } from "../../../core/text/format";
import { padRange, type Range, toX } from "../../../core/time/range";
import { useMessage } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { CaptureBlock, HostEvent } from "../api";
import classes from "../Timeline.module.css";

interface CapturesProps {
  blocks: readonly CaptureBlock[];
  range: Range;
  width: number;
  onGo: (range: Range) => void;
}

/** Render captures as blocks on the time axis. Captures within a few pixels are one block with their number. */
export const CaptureStrip = memo(function CaptureStrip({ blocks, range, width, onGo }: CapturesProps) {
  const { t } = useTranslation();
  const names = useNames();
  const navigate = useNavigate();
  const time = useTimeFormat();
  const displayed = useMemo(() => {
    const inside = blocks.filter((block) => block.to_ns >= range.from && block.from_ns <= range.to);
    return clusterByPosition(inside, (block) => toX(block.from_ns, range, width), 5);
  }, [blocks, range, width]);
  return (
    <div className={classes.strip}>
      <div className={classes.axisGutter}>
        <span className={classes.stripName}>{t("timeline.captures")}</span>
      </div>
      <div className={classes.stripPlot} style={{ width }}>
        {blocks.map((block) => (
          <LookBack key={`back ${block.run_id}`} block={block} range={range} width={width} />
        ))}
        {displayed.map(({ things }) => {
          const first = things[0] as CaptureBlock;
          const from = Math.min(...things.map((b) => b.from_ns));
          const to = Math.max(...things.map((b) => b.to_ns));
          const x0 = Math.max(0, toX(from, range, width));
          const x1 = Math.min(width, toX(to, range, width));
          const item = things.length === 1;
          const label = item
            ? displayed.length > 60
              ? `#${first.number} ${names.plan(first.plan)}`
              : `#${first.number} ${names.plan(first.plan)} · ${t(`state.${first.state}` as "state.done", { defaultValue: first.state })} · ${time.instant(from)} · ${formatDuration(to - from)} ± ${formatDuration(first.uncertainty_ns)}`
            : t("timeline.manyCaptures", { count: things.length });
          return (
            <button
              type="button"
              key={first.run_id}
              className={cx(classes.block, classes[`tone_${item ? chooseTone(first.state) : "many"}`])}
              style={{ left: x0, width: Math.max(3, x1 - x0) }}
              title={label}
              aria-label={label}
              tabIndex={displayed.length > 24 ? -1 : 0}
              onClick={() =>
                item
                  ? void navigate({ to: "/runs/$runId", params: { runId: first.run_id } })
                  : onGo(padRange({ from, to }, 0.05))
              }
            >
              {x1 - x0 > 34 ? (item ? `#${first.number} ${names.plan(first.plan)}` : things.length) : ""}
            </button>
          );
        })}
      </div>
    </div>
  );
});

/** Render the time that a look-back buffer covers before a capture. */
function LookBack({ block, range, width }: { block: CaptureBlock; range: Range; width: number }) {
  const { t } = useTranslation();
  if (block.look_back_ns === null || block.from_ns < range.from || block.look_back_ns > range.to) return null;
  const x0 = Math.max(0, toX(block.look_back_ns, range, width));
  const x1 = Math.min(width, toX(block.from_ns, range, width));
  const length = formatDuration(block.from_ns - block.look_back_ns);
  const label = t("timeline.lookBackText", { number: block.number, length });
  return (
    <span
      className={classes.lookBack}
      style={{ left: x0, width: Math.max(2, x1 - x0) }}
      role="img"
      aria-label={label}
      title={label}
    >
      {x1 - x0 > 70 && t("timeline.lookBack")}
    </span>
  );
}

interface EventsProps {
  /** undefined until they are loaded. */
  events: readonly HostEvent[] | undefined;
  range: Range;
  width: number;
}

const RANK = { info: 0, warn: 2, critical: 3 } as const;
/** Return the rank of an event. Reported events rank above kernel notices and below kernel errors. */
const rank = (event: HostEvent): number => (event.reported ? 1 : RANK[event.severity]);

/** Render kernel messages and other events as marks, with details in a popover. */
export const EventStrip = memo(function EventStrip({ events, range, width }: EventsProps) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  /** Its title, or its kind until the texts are loaded. */
  const nameEvent = (event: HostEvent) => formatMessage(event.title) || event.kind;
  const [openId, setOpenId] = useState<string>();
  const groups = useMemo(() => {
    const inside = (events ?? []).filter(
      (event) => (event.end_ns ?? event.t_ns) >= range.from && event.t_ns <= range.to,
    );
    return clusterByPosition(inside, (event) => toX(Math.max(event.t_ns, range.from), range, width), 30);
  }, [events, range, width]);
  const open =
    openId === undefined ? undefined : groups.find((group) => group.things.some((e) => e.id === openId));
  const perPixel = (range.to - range.from) / width;
  return (
    <div className={classes.strip}>
      <div className={classes.axisGutter}>
        <span className={classes.stripName}>{t("timeline.events")}</span>
      </div>
      <div className={classes.stripPlot} style={{ width }}>
        {groups.map(({ x, things }) => {
          const first = things[0] as HostEvent;
          const worst = things.reduce((a, b) => (rank(b) > rank(a) ? b : a));
          const band = first.uncertainty_ns / perPixel;
          const until = first.end_ns ? toX(first.end_ns, range, width) - x : 0;
          return (
            <button
              type="button"
              key={first.id}
              className={cx(classes.event, classes[worst.reported ? "reported" : worst.severity])}
              style={{ left: x }}
              onClick={() => setOpenId(openId === first.id ? undefined : first.id)}
              aria-label={
                things.length === 1 ? nameEvent(first) : t("timeline.manyEvents", { count: things.length })
              }
              title={nameEvent(worst)}
              aria-expanded={open?.things[0] === first}
            >
              {band > 3 && <span className={classes.eventBand} style={{ width: band * 2, left: 6 - band }} />}
              {until > 6 && <span className={classes.eventSpan} style={{ width: until }} />}
              <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden>
                {SHAPES[worst.reported ? "reported" : worst.severity]}
              </svg>
              {things.length > 1 && <span className={classes.eventCount}>{things.length}</span>}
            </button>
          );
        })}
        {events && groups.length === 0 && (
          <span className={classes.stripEmpty}>{t("timeline.noEvents")}</span>
        )}
        {open && <EventList x={open.x} events={open.things} onClose={() => setOpenId(undefined)} />}
      </div>
    </div>
  );
});

const SHAPES = {
  critical: <path d="M6 0 12 6 6 12 0 6Z" />,
  warn: <path d="M6 1 11.5 11H.5Z" />,
  info: <circle cx="6" cy="6" r="4" />,
  reported: <path d="M2 0h1.4v1H11L9 3.6 11 6.2H3.4V12H2Z" />,
} as const;

function EventList({ x, events, onClose }: { x: number; events: readonly HostEvent[]; onClose: () => void }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const time = useTimeFormat();
  return (
    <Popover opened onChange={onClose} position="bottom-start" width={440} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <span className={classes.eventAnchor} style={{ left: x }} />
      </Popover.Target>
      <Popover.Dropdown className={classes.eventList ?? ""}>
        {events.slice(0, 30).map((event) => (
          <div key={event.id} className={classes.eventItem}>
            <div className={classes.eventHead}>
              <strong>
                {event.reported && <span className={classes.eventKind}>{event.kind}</span>}{" "}
                {formatMessage(event.title)}
              </strong>
              <span className="num dim">
                {time.time(event.t_ns, 1e6)}
                {!event.reported && ` ± ${formatDuration(event.uncertainty_ns)}`}
                {event.end_ns !== null && ` + ${formatDuration(event.end_ns - event.t_ns)}`}
              </span>
            </div>
            {event.detail && <code className={classes.eventDetail}>{event.detail}</code>}
            {event.reported && (
              <div className="dim">
                {event.reported.who && `${event.reported.who}, `}
                {t("events.reportedBy", { name: event.reported.by })}
                {event.reported.everywhere && `, ${t("events.targets.everywhere")}`}{" "}
                {event.reported.link && (
                  <Anchor
                    href={event.reported.link}
                    target="_blank"
                    rel="noreferrer noopener nofollow"
                    size="xs"
                  >
                    {t("events.more")}
                  </Anchor>
                )}
              </div>
            )}
            {event.artifact_id && (
              <Link
                to="/artifacts/$artifactId"
                params={{ artifactId: event.artifact_id }}
                search={{
                  line: event.line ? String(event.line) : undefined,
                  run: event.run_id ?? undefined,
                }}
                size="xs"
              >
                {event.line ? t("timeline.sourceLine", { line: event.line }) : t("timeline.source")}
              </Link>
            )}
          </div>
        ))}
        {events.length > 30 && (
          <p className="dim">{t("timeline.moreEvents", { count: events.length - 30 })}</p>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
