import type { Incident } from "../../../client/models";
import { useTranslation } from "../../../lib/text/useTranslation";
import { PANES, type Pane } from "./fields";
import classes from "./Incidents.module.css";
import type { IncidentView } from "./useIncidentView";

/** The tabs next to the chain: the evidence of a step, fixes, all pins, the history. */
export function PaneTabs({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const counts: Partial<Record<Pane, number>> = { fixes: incident.fixes.length, pins: incident.pins.length };
  return (
    <div className={classes.tabs} role="tablist" aria-label={t("incidents.pane.label")}>
      {PANES.map((pane) => (
        <button
          key={pane}
          type="button"
          role="tab"
          aria-selected={view.pane === pane}
          tabIndex={view.pane === pane ? 0 : -1}
          className={classes.tab}
          onClick={() => view.set({ pane }, { push: true })}
          onKeyDown={(event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            const to = PANES[(PANES.indexOf(pane) + by + PANES.length) % PANES.length];
            if (by === 0 || !to) return;
            event.preventDefault();
            view.set({ pane: to });
            const tabs = event.currentTarget.parentElement?.querySelectorAll<HTMLElement>("[role=tab]");
            tabs?.[PANES.indexOf(to)]?.focus();
          }}
        >
          {t(`incidents.pane.${pane}`)}
          {counts[pane] !== undefined && <span className={classes.count}>{counts[pane]}</span>}
        </button>
      ))}
    </div>
  );
}
