import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { Siren } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { IncidentSummary } from "../../client/incidents";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useOpenDialog } from "../../lib/dialogs";
import { useIncidents } from "../../lib/incidents";
import { useMay } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { useSlashFocus } from "../../lib/useSlashFocus";
import { Doors } from "../../renderers/doors/Doors";
import { LIST_FIELDS } from "./fields";
import classes from "./Incidents.module.css";
import { IncidentsTable } from "./IncidentsTable";

const FILTERS = ["unresolved", "resolved", ""] as const;

const matches = (one: IncidentSummary, q: string): boolean =>
  [
    `#${one.number}`,
    one.title,
    one.symptom.says,
    one.symptom.service,
    ...one.hosts,
    ...one.causes.map((c) => c.cause),
  ]
    .join(" ")
    .toLowerCase()
    .includes(q.toLowerCase());

/** What is wrong now, for the morning meeting: state, symptom, named cause, and what is still missing. */
export function IncidentsPage() {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  const search = useSlashFocus();
  const [{ state, q }, set] = useUrlState(LIST_FIELDS);
  const query = useIncidents();
  const start = may("incident.edit") && (
    <Button leftSection={<Siren size={14} />} onClick={() => openDialog("incident")}>
      {t("incidents.new.title")}
    </Button>
  );
  return (
    <Page title={t("nav.incidents")} actions={start}>
      <Loaded
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
                  <Empty title={t("incidents.none")} action={start}>
                    {t("incidents.noneText")}
                  </Empty>
                </Panel>
                <Doors first={false} />
              </>
            );
          const counts = {
            unresolved: all.filter((one) => one.state !== "resolved").length,
            resolved: all.filter((one) => one.state === "resolved").length,
            "": all.length,
          };
          const shown = all.filter(
            (one) =>
              (state === "" || (state === "unresolved" ? one.state !== "resolved" : one.state === state)) &&
              matches(one, q),
          );
          return (
            <>
              <div className={classes.filters}>
                <SegmentedControl
                  size="xs"
                  aria-label={t("captures.state")}
                  value={state}
                  onChange={(value) => set({ state: value as typeof state })}
                  data={FILTERS.map((one) => ({
                    value: one,
                    label: `${t(`incidents.filter.${one || "all"}`)} ${counts[one]}`,
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
                {shown.length > 0 ? (
                  <IncidentsTable items={shown} />
                ) : (
                  <Empty title={t("incidents.nothingHere")} />
                )}
              </Panel>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
