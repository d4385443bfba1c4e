import { Select } from "@mantine/core";
import type { Host } from "../../client/models";
import { TimeField } from "../../components/fields/TimeField";
import { formatDuration } from "../../core/text/format";
import { isoToNs } from "../../core/time/clock";
import type { Range } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { findRunByRange, listFinishedRuns, rangeOf } from "../../widgets/timeline/changes/selections";
import type { Selection } from "../../widgets/timeline/changes/useDifferences";
import { useOverview } from "../../widgets/timeline/useTimelineData";
import classes from "./WhatChanged.module.css";

interface Props {
  side: "a" | "b";
  hosts: readonly Host[];
  host: string;
  selection: Selection | undefined;
  /** `range` is undefined for the default range of the host. */
  onChange(next: { host: string; range: Range | undefined }): void;
}

const toIso = (ns: number): string => new Date(ns / 1e6).toISOString();

/** Form fields of a selection: a host, and a time range of a run or as entered. */
export function SelectionFields({ side, hosts, host, selection, onChange }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const names = useNames();
  const runs = listFinishedRuns(useOverview(host).data?.runs ?? []);
  const range = selection?.range;
  const chosen = findRunByRange(runs, range);
  const type = (change: Partial<Record<"from" | "to", string>>) => {
    if (!range) return;
    const from = change.from === undefined ? range.from : isoToNs(change.from);
    const to = change.to === undefined ? range.to : isoToNs(change.to);
    if (from !== undefined && to !== undefined && from < to) onChange({ host, range: { from, to } });
  };
  return (
    <fieldset className={classes.side}>
      <legend className={classes.legend}>
        <span className={classes[`key_${side}`]} aria-hidden>
          {side.toUpperCase()}
        </span>{" "}
        {t(`whatChanged.side.${side}`)}
        {range && <span className="num dim"> · {formatDuration(range.to - range.from)}</span>}
      </legend>
      <Select
        label={t("whatChanged.host")}
        data={hosts.map((item) => ({ value: item.id, label: item.name }))}
        value={host || null}
        onChange={(id) => id && onChange({ host: id, range: undefined })}
        searchable
        allowDeselect={false}
        nothingFoundMessage={t("whatChanged.noHosts")}
      />
      <Select
        label={t("whatChanged.run")}
        placeholder={t("whatChanged.ownRange")}
        data={runs.map((run) => ({
          value: run.run_id,
          label: `#${run.number} ${names.plan(run.plan)} · ${time.instant(run.from_ns, 1e9)}`,
        }))}
        value={chosen?.run_id ?? null}
        onChange={(id) => {
          const run = runs.find((item) => item.run_id === id);
          if (run) onChange({ host, range: rangeOf(run) });
        }}
        searchable
        nothingFoundMessage={t("timeline.empty")}
      />
      <TimeField
        label={t("whatChanged.from")}
        value={range ? toIso(range.from) : ""}
        onChange={(from) => type({ from })}
      />
      <TimeField
        label={t("whatChanged.to")}
        value={range ? toIso(range.to) : ""}
        onChange={(to) => type({ to })}
      />
    </fieldset>
  );
}
