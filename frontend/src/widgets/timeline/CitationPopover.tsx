import { Popover, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Citation, Lane } from "../../client/types";
import { Link } from "../../components/Link";
import { ErrorLine, RowSkeleton } from "../../components/States";
import { quantity } from "../../core/format";
import { labelText, type Row } from "../../core/lanes";
import { MIN_DAYS, usualAt } from "../../core/usual";
import { get } from "../../lib/api";
import { useSentence } from "../../lib/i18n";
import { useTimeFormat } from "../../lib/useFormat";
import type { Picked } from "./Overlay";
import classes from "./Timeline.module.css";

interface Props {
  hostId: string;
  picked: Picked;
  row: Row;
  title: string;
  lanes: readonly Lane[];
  onClose: () => void;
}

/** Where a drawn value comes from: the very line of the artifact. */
export function CitePopover({ hostId, picked, row, title, lanes, onClose }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const say = useSentence();
  const [which, setWhich] = useState("0");
  const lane = lanes[Number(which)];
  const axisValue =
    row.kind === "heatmap" && lane?.axis_values
      ? lane.axis_values[Math.floor(picked.share * lane.axis_values.length)]
      : undefined;
  const cite = useQuery({
    queryKey: ["cite", hostId, row.metric, lane ? labelText(lane.labels) : "", Math.round(picked.t)],
    queryFn: () =>
      get<Citation>("/cite", {
        host_id: hostId,
        metric: row.metric,
        labels: JSON.stringify(lane?.labels ?? {}),
        t_ns: Math.round(picked.t),
      }),
    enabled: lane !== undefined,
    retry: false,
  });
  const values = Object.entries(cite.data?.values ?? {});
  const shown = axisValue !== undefined ? values.filter(([name]) => name === axisValue) : values.slice(0, 4);
  const span = lane?.usual?.find((one) => picked.t >= one.from_ns && picked.t <= one.to_ns);
  const usual = span && usualAt([span], picked.t);
  return (
    <Popover opened onChange={onClose} position="bottom-start" width={420} withinPortal trapFocus returnFocus>
      <Popover.Target>
        <span className={classes.cite} style={{ left: picked.x, top: picked.y }} />
      </Popover.Target>
      <Popover.Dropdown>
        <div className={classes.citeList}>
          <div>
            <strong>{title}</strong>{" "}
            <span className="num dim">{time.instant(cite.data?.t_ns ?? picked.t, 1e6)}</span>
          </div>
          {lanes.length > 1 && (
            <Select
              size="xs"
              data={lanes.map((one, i) => ({ value: String(i), label: labelText(one.labels) || row.metric }))}
              value={which}
              onChange={(value) => setWhich(value ?? "0")}
              aria-label={t("timeline.series")}
            />
          )}
          {shown.map(([name, value]) => (
            <div key={name} className="num">
              {lane?.axis ? `${lane.axis} ${name} ` : ""}
              {value === null ? t("timeline.noData") : quantity(value, row.unit)}
            </div>
          ))}
          {span && (
            <div className="dim">
              {usual
                ? t("timeline.usual.at", {
                    low: quantity(usual.low, row.unit),
                    high: quantity(usual.high, row.unit),
                    median: quantity(usual.median, row.unit),
                    count: usual.days,
                  })
                : span.failure
                  ? t("timeline.usual.failed", { why: say(span.failure) })
                  : t("timeline.usual.few", { count: Math.max(0, ...span.days), needed: MIN_DAYS })}{" "}
              {span.artifact_id && (
                <Link
                  to="/artifacts/$artifactId"
                  params={{ artifactId: span.artifact_id }}
                  search={{ run: span.run_id } as never}
                >
                  {t("timeline.usual.source")}
                </Link>
              )}
            </div>
          )}
          {cite.isPending && lane && <RowSkeleton rows={2} />}
          {!lane && <span>{t("timeline.noDataHere")}</span>}
          <ErrorLine error={cite.error} />
          {cite.data && (
            <>
              {cite.data.text && <code className={classes.citeText}>{cite.data.text}</code>}
              <div>
                <Link
                  to="/artifacts/$artifactId"
                  params={{ artifactId: cite.data.artifact_id }}
                  search={
                    {
                      line: cite.data.line ? String(cite.data.line) : undefined,
                      run: cite.data.run_id,
                    } as never
                  }
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
