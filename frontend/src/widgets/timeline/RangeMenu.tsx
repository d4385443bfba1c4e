import { Button, Popover } from "@mantine/core";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { TimeField } from "../../components/fields/TimeField";
import { formatDuration } from "../../core/text/format";
import { isoToNs } from "../../core/time/clock";
import { NS_PER_S, type Range } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Timeline.module.css";

/** Lengths in seconds of ranges that end with the newest data. */
const PRESETS = [
  ["5m", 300],
  ["15m", 900],
  ["1h", 3600],
  ["6h", 6 * 3600],
  ["1d", 86_400],
  ["7d", 7 * 86_400],
  ["30d", 30 * 86_400],
] as const;

interface Props {
  range: Range;
  /** Range of all data of the host. */
  limit: Range;
  onGo(range: Range): void;
}

/** Render the visible range as a button, which opens fields for another range, and presets. */
export function RangeMenu({ range, limit, onGo }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [open, setOpen] = useState(false);
  const go = (next: Range) => {
    onGo(next);
    setOpen(false);
  };
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-start" trapFocus withinPortal>
      <Popover.Target>
        <button
          type="button"
          className={classes.rangeButton}
          title={t("timeline.range.change")}
          onClick={() => setOpen(!open)}
        >
          <span className="num">
            {time.instant(range.from)} – {time.instant(range.to)}
          </span>{" "}
          {time.zoneName} · <span className="num">{formatDuration(range.to - range.from)}</span>{" "}
          <ChevronDown size={12} aria-hidden />
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        {open && <RangeFields range={range} onApply={go} />}
        <fieldset className={classes.rangePresets}>
          <legend>{t("timeline.range.until")}</legend>
          {PRESETS.map(([name, seconds]) => (
            <Button
              key={name}
              variant="default"
              size="compact-xs"
              onClick={() => go({ from: limit.to - seconds * NS_PER_S, to: limit.to })}
            >
              {t(`timeline.preset.${name}`)}
            </Button>
          ))}
          <Button variant="default" size="compact-xs" onClick={() => go(limit)}>
            {t("timeline.all")}
          </Button>
        </fieldset>
      </Popover.Dropdown>
    </Popover>
  );
}

const toIso = (ns: number): string => new Date(ns / 1e6).toISOString();

function RangeFields({ range, onApply }: { range: Range; onApply(range: Range): void }) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(toIso(range.from));
  const [to, setTo] = useState(toIso(range.to));
  const [begin, end] = [isoToNs(from), isoToNs(to)];
  const isReversed = begin !== undefined && end !== undefined && begin >= end;
  return (
    <form
      className={classes.rangeFields}
      onSubmit={(event) => {
        event.preventDefault();
        if (begin !== undefined && end !== undefined && begin < end) onApply({ from: begin, to: end });
      }}
    >
      <TimeField label={t("timeline.range.from")} value={from} onChange={setFrom} data-autofocus />
      <TimeField
        label={t("timeline.range.to")}
        value={to}
        onChange={setTo}
        error={isReversed ? t("timeline.range.reversed") : undefined}
      />
      <Button type="submit" disabled={begin === undefined || end === undefined || isReversed}>
        {t("timeline.range.apply")}
      </Button>
    </form>
  );
}
