import { Button, CloseButton } from "@mantine/core";
import { useLocation, useSearch } from "@tanstack/react-router";
import { ArrowUpDown, Flame, GitCompareArrows, ZoomIn } from "lucide-react";
import { useMemo } from "react";
import type { Profile } from "../../client/models";
import { ButtonLink } from "../../components/Link";
import { cx } from "../../core/cx";
import { formatSearch, type Search } from "../../core/search";
import { formatDuration } from "../../core/text/format";
import { formatRange, type Range, rangesOverlap } from "../../core/time/range";
import { useProfiles } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { PinButton } from "../pins/PinButton";
import type { CaptureBlock } from "./api";
import classes from "./Timeline.module.css";

/** Return the run with the largest overlap with a range, or undefined if none overlaps. */
export function findOverlappingRun(runs: readonly CaptureBlock[], range: Range): CaptureBlock | undefined {
  const shared = (block: CaptureBlock) =>
    Math.min(block.to_ns, range.to) - Math.max(block.from_ns, range.from);
  return runs
    .filter((block) => shared(block) > 0)
    .reduce<CaptureBlock | undefined>((a, b) => (a && shared(a) >= shared(b) ? a : b), undefined);
}

/** Return the on-CPU profile with the largest overlap with a range, or undefined if none overlaps. */
export function findBestProfile(profiles: readonly Profile[], range: Range): Profile | undefined {
  let best: Profile | undefined;
  let most = 0;
  for (const profile of profiles) {
    if (profile.t0_ns === null || profile.t1_ns === null || profile.kind !== "on_cpu") continue;
    const own = { from: profile.t0_ns, to: profile.t1_ns };
    if (!rangesOverlap(own, range)) continue;
    const shared = Math.min(own.to, range.to) - Math.max(own.from, range.from);
    if (shared > most || !best) {
      best = profile;
      most = shared;
    }
  }
  return best;
}

interface Props {
  hostId: string;
  brush: Range | undefined;
  baseline: Range | undefined;
  /** Visible range of the tracks. A pin stores it, so that it opens the same range after later captures. */
  visibleRange: Range;
  /** Runs of the host. A pinned range refers to the run with the largest overlap. */
  runs: readonly CaptureBlock[];
  onClear: (which: "brush" | "baseline") => void;
  onZoomTo: (range: Range) => void;
}

/** Render the actions for the brush and the baseline. */
export function BrushBar({ hostId, brush, baseline, visibleRange, runs, onClear, onZoomTo }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const here = useLocation();
  const search = useSearch({ strict: false }) as Search;
  const profiles = useProfiles({ host: hostId });
  const b = useMemo(() => brush && findBestProfile(profiles.data ?? [], brush), [profiles.data, brush]);
  const a = useMemo(
    () => baseline && findBestProfile(profiles.data ?? [], baseline),
    [profiles.data, baseline],
  );
  const run = brush && findOverlappingRun(runs, brush);
  const text = (range: Range) => {
    const step = (range.to - range.from) / 100;
    return `${time.instant(range.from, step)} – ${time.time(range.to, step)}`;
  };
  const item = (range: Range, which: "brush" | "baseline") => (
    <span className={classes.brushItem}>
      <span className={cx(classes.brushKey, which === "brush" ? classes.keyB : classes.keyA)} aria-hidden>
        {which === "brush" ? "B" : "A"}
      </span>
      <span>{t(`timeline.${which}`)}</span>
      <span className="num">{text(range)}</span>
      <span className="num dim">{formatDuration(range.to - range.from)}</span>
      <CloseButton size="xs" onClick={() => onClear(which)} aria-label={t(`timeline.clear.${which}`)} />
    </span>
  );
  return (
    <div className={classes.brushBar}>
      {baseline && item(baseline, "baseline")}
      {brush && item(brush, "brush")}
      {brush && !baseline && <span className="dim">{t("timeline.baselineHint")}</span>}
      {baseline && !brush && <span className="dim">{t("timeline.brushHint")}</span>}
      <span className={classes.brushActions}>
        {brush && (
          <Button variant="default" leftSection={<ZoomIn size={14} />} onClick={() => onZoomTo(brush)}>
            {t("timeline.zoomTo")}
          </Button>
        )}
        {brush && (
          <ButtonLink
            variant="default"
            to="/what-changed"
            search={{
              host: hostId,
              b: formatRange(brush),
              ...(baseline ? { c: formatRange(baseline) } : {}),
            }}
            leftSection={<ArrowUpDown size={14} />}
          >
            {t("timeline.whatChanged")}
          </ButtonLink>
        )}
        {brush && run && (
          <PinButton
            target={{
              kind: "range",
              ref: {
                run_id: run.run_id,
                host_id: hostId,
                from_ns: Math.round(brush.from),
                to_ns: Math.round(brush.to),
              },
            }}
            view={`${here.pathname}${formatSearch({ ...search, t: formatRange(visibleRange) })}`}
            label={t("incidents.pin.range", { range: text(brush) })}
          />
        )}
        {brush && baseline && a && b ? (
          <ButtonLink
            to="/compare"
            search={{ ap: a.id, a: formatRange(baseline), bp: b.id, b: formatRange(brush) }}
            leftSection={<GitCompareArrows size={14} />}
          >
            {t("timeline.compare")}
          </ButtonLink>
        ) : brush && b ? (
          <ButtonLink
            to="/profiles/$profileId"
            params={{ profileId: b.id }}
            search={{ b: formatRange(brush) }}
            leftSection={<Flame size={14} />}
          >
            {t("timeline.profileOf")}
          </ButtonLink>
        ) : (
          <span className="dim">{profiles.data ? t("timeline.noProfile") : ""}</span>
        )}
      </span>
    </div>
  );
}
