import { Button } from "@mantine/core";
import { Pin } from "lucide-react";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { StatusIcon } from "../../../components/StatusIcon";
import { formatSearch } from "../../../core/search";
import { isoToNs } from "../../../core/time/clock";
import { formatRange, padRange, type Range } from "../../../core/time/range";
import { type PinDraft, usePin } from "../../../lib/incidents/usePin";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useTimeState } from "../../../lib/urlState";
import type { IncidentView } from "../page/useIncidentView";
import classes from "./Evidence.module.css";

const MAX_LINES = 40;

/** Return a pin of the brushed time range, else of the first cited artifact lines of the step, else undefined. */
export function currentPinTarget(
  incident: Incident,
  view: IncidentView,
  brush: Range | undefined,
): PinDraft | undefined {
  const { host, answer } = view;
  if (brush && host) {
    const run = incident.runs
      .flatMap((run) => {
        const [from, to] = [isoToNs(run.from), isoToNs(run.to)];
        if (run.host_id !== host.id || from === undefined || to === undefined) return [];
        return { ...run, shared: Math.min(to, brush.to) - Math.max(from, brush.from) };
      })
      .filter((item) => item.shared > 0)
      .sort((a, b) => b.shared - a.shared)[0];
    if (run)
      return {
        kind: "range",
        ref: {
          run_id: run.run_id,
          host_id: host.id,
          from_ns: Math.round(brush.from),
          to_ns: Math.round(brush.to),
        },
        view: `/hosts/${host.id}${formatSearch({ b: formatRange(brush), t: formatRange(padRange(brush, 0.5)) })}`,
      };
  }
  const place = answer?.findings
    .flatMap((finding) => finding.numbers.flatMap((number) => number.citations))
    .find((source) => source.artifact && (source.lines?.length ?? 0) > 0);
  if (!place?.artifact || !place.lines) return undefined;
  const lines = place.lines.slice(0, MAX_LINES);
  const search = formatSearch({
    line: String(lines[0]),
    lines: lines.length > 1 ? lines.join(",") : undefined,
    run: place.run,
  });
  return {
    kind: "line",
    ref: { artifact_id: place.artifact, part: place.part ?? "", lines },
    view: `/artifacts/${place.artifact}${search}`,
  };
}

/** Button that pins the current selection of the evidence pane; the key `e` clicks it. */
export function PinSelectionButton({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const [{ b }] = useTimeState();
  const pin = usePin();
  if (!incident.permissions.edit) return null;
  const draft = currentPinTarget(incident, view, b);
  return (
    <>
      {pin.isSuccess && <StatusIcon tone="ok">{t("incidents.pin.done")}</StatusIcon>}
      <ErrorLine error={pin.error} />
      <Button
        id="pin-shown"
        size="compact-sm"
        variant="default"
        leftSection={<Pin size={13} />}
        rightSection={<kbd className={classes.key}>e</kbd>}
        loading={pin.isPending}
        disabled={!draft}
        title={draft ? t(`incidents.pin.shown.${draft.kind as "line"}`) : t("incidents.pin.nothing")}
        onClick={() => draft && pin.mutate({ incident: incident.id, step: view.step?.key ?? "", draft })}
      >
        {t("incidents.pin.pin")}
      </Button>
    </>
  );
}
