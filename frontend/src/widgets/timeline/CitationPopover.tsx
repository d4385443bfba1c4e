import { Popover, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ErrorLine, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { labelText, type TrackRow } from "../../core/charts/tracks";
import { findTypicalValues, MIN_DAYS } from "../../core/charts/typicalRange";
import { formatQuantity } from "../../core/text/format";
import { get } from "../../lib/api";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Track } from "./api";
import type { TimeSelection } from "./BrushOverlay";
import classes from "./Timeline.module.css";

interface Props {
  hostId: string;
  picked: TimeSelection;
  row: TrackRow;
  title: string;
  tracks: readonly Track[];
  onClose: () => void;
}

/** Render the source of a value in a track: time, value, typical range, and the line of the artifact. */
export function CitationPopover({ hostId, picked, row, title, tracks, onClose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const formatMessage = useMessage();
  const [which, setWhich] = useState("0");
  const track = tracks[Number(which)];
  const axisValue =
    row.kind === "heatmap" && track?.axis_values
      ? track.axis_values[Math.floor(picked.share * track.axis_values.length)]
      : undefined;
  const cite = useQuery({
    queryKey: ["cite", hostId, row.metric, track ? labelText(track.labels) : "", Math.round(picked.t)],
    queryFn: () =>
      get("/citations", {
        host_id: hostId,
        metric: row.metric,
        labels: JSON.stringify(track?.labels ?? {}),
        t_ns: Math.round(picked.t),
      }),
    enabled: track !== undefined,
    retry: false,
  });
  const values = Object.entries(cite.data?.values ?? {});
  const displayed =
    axisValue !== undefined ? values.filter(([name]) => name === axisValue) : values.slice(0, 4);
  const span = track?.typical?.find(
    (typicalSpan) => picked.t >= typicalSpan.from_ns && picked.t <= typicalSpan.to_ns,
  );
  const typical = span && findTypicalValues([span], picked.t);
  return (
    <Popover opened onChange={onClose} position="bottom-start" width={420} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <span className={classes.popoverAnchor} style={{ left: picked.x, top: picked.y }} />
      </Popover.Target>
      <Popover.Dropdown>
        <div className={classes.citeList}>
          <div>
            <strong>{title}</strong>{" "}
            <span className="num dim">{time.instant(cite.data?.t_ns ?? picked.t, 1e6)}</span>
          </div>
          {tracks.length > 1 && (
            <Select
              size="xs"
              data={tracks.map((track, i) => ({
                value: String(i),
                label: labelText(track.labels) || row.metric,
              }))}
              value={which}
              onChange={(value) => setWhich(value ?? "0")}
              aria-label={t("timeline.series")}
            />
          )}
          {displayed.map(([name, value]) => (
            <div key={name} className="num">
              {track?.axis ? `${track.axis} ${name} ` : ""}
              {value === null ? t("timeline.noData") : formatQuantity(value, row.unit)}
            </div>
          ))}
          {span && (
            <div className="dim">
              {typical
                ? t("timeline.typical.at", {
                    low: formatQuantity(typical.low, row.unit),
                    high: formatQuantity(typical.high, row.unit),
                    median: formatQuantity(typical.median, row.unit),
                    count: typical.days,
                  })
                : span.failure
                  ? t("timeline.typical.failed", { why: formatMessage(span.failure) })
                  : t("timeline.typical.few", { count: Math.max(0, ...span.days), needed: MIN_DAYS })}{" "}
              {span.artifact_id && (
                <Link
                  to="/artifacts/$artifactId"
                  params={{ artifactId: span.artifact_id }}
                  search={{ run: span.run_id }}
                >
                  {t("timeline.typical.source")}
                </Link>
              )}
            </div>
          )}
          {cite.isPending && track && <RowSkeleton rows={2} />}
          {!track && <span>{t("timeline.noDataHere")}</span>}
          <ErrorLine error={cite.error} />
          {cite.data && (
            <>
              {cite.data.text && <code className={classes.citeText}>{cite.data.text}</code>}
              <div>
                <Link
                  to="/artifacts/$artifactId"
                  params={{ artifactId: cite.data.artifact_id }}
                  search={{
                    line: cite.data.line ? String(cite.data.line) : undefined,
                    run: cite.data.run_id,
                  }}
                >
                  {cite.data.line
                    ? t("timeline.openLine", { part: cite.data.part, line: cite.data.line })
                    : t("timeline.openPart", { part: cite.data.part })}
                </Link>
              </div>
            </>
          )}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
