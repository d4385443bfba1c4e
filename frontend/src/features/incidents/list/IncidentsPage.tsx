import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { Siren } from "lucide-react";
import type { IncidentSummary } from "../../../client/models";
import { EmptyState, QueryContent, RowSkeleton } from "../../../components/EmptyState";
import { Page, Panel } from "../../../components/Page";
import { useOpenDialog } from "../../../lib/dialogs";
import { useIncidents } from "../../../lib/incidents/incidents";
import { usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { useSlashFocus } from "../../../lib/useSlashFocus";
import { GetStarted } from "../../../widgets/get-started/GetStarted";
import { LIST_FIELDS } from "../page/fields";
import classes from "../page/Incidents.module.css";
import { IncidentsTable } from "./IncidentsTable";

const FILTERS = ["unresolved", "resolved", ""] as const;

const matchesFilter = (incident: IncidentSummary, q: string): boolean =>
  [
    `#${incident.number}`,
    incident.title,
    incident.symptom.description,
    incident.symptom.service,
    ...incident.hosts,
    ...incident.causes.map((c) => c.cause),
  ]
    .join(" ")
    .toLowerCase()
    .includes(q.toLowerCase());

/** Filtered list of incidents; without any incident, the ways to get started. */
export function IncidentsPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const search = useSlashFocus();
  const [{ state, q }, set] = useUrlState(LIST_FIELDS);
  const query = useIncidents();
  const start = can("incident.edit") && (
    <Button leftSection={<Siren size={14} />} onClick={() => openDialog("incident")}>
      {t("incidents.new.title")}
    </Button>
  );
  return (
    <Page title={t("nav.incidents")} actions={start}>
      <QueryContent
        query={query}
        skeleton={
          <Panel flush>
            <RowSkeleton rows={8} height={46} />
          </Panel>
        }
      >
        {(all) => {
          if (all.length === 0)
            return (
              <>
                <Panel>
                  <EmptyState title={t("incidents.none")} action={start}>
                    {t("incidents.noneText")}
                  </EmptyState>
                </Panel>
                <GetStarted first={false} />
              </>
            );
          const counts = {
            unresolved: all.filter((incident) => incident.state !== "resolved").length,
            resolved: all.filter((incident) => incident.state === "resolved").length,
            "": all.length,
          };
          const visible = all.filter(
            (incident) =>
              (state === "" ||
                (state === "unresolved" ? incident.state !== "resolved" : incident.state === state)) &&
              matchesFilter(incident, q),
          );
          return (
            <>
              <div className={classes.filters}>
                <SegmentedControl
                  size="xs"
                  aria-label={t("captures.state")}
                  value={state}
                  onChange={(value) => set({ state: value as typeof state })}
                  data={FILTERS.map((filter) => ({
                    value: filter,
                    label: `${t(`incidents.filter.${filter || "all"}`)} ${counts[filter]}`,
                  }))}
                />
                <TextInput
                  ref={search}
                  size="xs"
                  w={280}
                  aria-label={t("incidents.search")}
                  placeholder={t("incidents.search")}
                  value={q}
                  onChange={(event) => set({ q: event.currentTarget.value })}
                />
              </div>
              <Panel flush>
                {visible.length > 0 ? (
                  <IncidentsTable items={visible} />
                ) : (
                  <EmptyState title={t("incidents.nothingHere")} />
                )}
              </Panel>
            </>
          );
        }}
      </QueryContent>
    </Page>
  );
}
