import type { Incident } from "../../../client/models";
import { Tabs } from "../../../components/Tabs";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PANES, type Pane } from "./fields";
import type { IncidentView } from "./useIncidentView";

/** Tabs next to the evidence chain: evidence of a step, fixes, pins, comments, journal. */
export function PaneTabs({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const counts: Partial<Record<Pane, number>> = { fixes: incident.fixes.length, pins: incident.pins.length };
  return (
    <Tabs
      label={t("incidents.pane.label")}
      tabs={PANES.map((id) => ({ id, text: t(`incidents.pane.${id}`), count: counts[id] }))}
      value={view.pane}
      onChange={(pane, isKey) => view.set({ pane }, { push: !isKey })}
    />
  );
}
