import { Select } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Run } from "../../client/types";
import { formatSearch } from "../../core/search";
import { useCaptures } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { PinButton } from "../../renderers/incident/PinButton";
import { useRunVisuals } from "../../renderers/visuals/Visuals";

const HOME = new Set(["done", "partial"]);
/** The pictures that can show two runs. */
const SHOWS_TWO = new Set(["sched_latency"]);

interface Props {
  run: Run;
  hostId: string;
  before: string;
  onChange: (before: string) => void;
}

/** Lays another run of the same host under the pictures that can show two; absent where none can. */
export function BeforeChoice({ run, hostId, before, onChange }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const names = useNames();
  const drawn = useRunVisuals(run.id, [], [], before || undefined).data?.visuals ?? [];
  const captures = useCaptures({ host: hostId });
  const others = (captures.data?.items ?? []).flatMap((capture) =>
    capture.runs
      .filter((one) => one.id !== run.id && one.host?.id === hostId && HOME.has(one.state))
      .map((one) => ({
        value: one.id,
        label: `#${capture.number} ${names.plan(capture.plan)} · ${time.iso(one.started_at)}`,
      })),
  );
  const able = drawn.some((one) => one.body !== null && SHOWS_TWO.has(one.body.kind));
  if (!able || (others.length === 0 && !before)) return null;
  return (
    <>
      <Select
        size="xs"
        w={300}
        aria-label={t("run.before")}
        placeholder={t("run.before")}
        title={t("run.beforeText")}
        data={others}
        value={before || null}
        onChange={(id) => onChange(id ?? "")}
        searchable
        clearable
        nothingFoundMessage={t("run.beforeNone")}
      />
      {before && (
        <PinButton
          small
          kind="comparison"
          of={{ left: before, right: run.id, what: "runs" }}
          view={`/runs/${run.id}${formatSearch({ before })}`}
          label={t("incidents.pin.comparison")}
        />
      )}
    </>
  );
}
