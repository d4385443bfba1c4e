import { Button, Switch, TextInput } from "@mantine/core";
import { CalendarOff, Plus, Search } from "lucide-react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { useMaintenanceWindows, useSchedules } from "../../lib/captures/schedules";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { ScheduleDialog } from "./form/ScheduleDialog";
import { MaintenanceDialog } from "./maintenance/MaintenanceDialog";
import { MaintenanceWindows } from "./maintenance/MaintenanceWindows";
import { ScheduleDetail } from "./ScheduleDetail";
import { MAX_UNSCROLLED_ROWS, matchesSearch, SchedulesTable } from "./SchedulesTable";
import classes from "./schedules.module.css";

const FIELDS = {
  q: textField,
  schedule: textField,
  dialog: choiceField(["", "add", "edit", "maintenance"], ""),
  ended: flagField,
};

/** Schedules, and the maintenance windows in which they pause. */
export function SchedulesPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  const schedules = useSchedules();
  const windows = useMaintenanceWindows(view.ended);
  const manages = can("schedule.manage");
  const chosen = schedules.data?.find((schedule) => schedule.id === view.schedule);
  const close = () => setView({ dialog: "" });
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ dialog: "add" })}>
      {t("schedules.add")}
    </Button>
  );
  const addWindow = can("maintenance.manage") && (
    <Button
      variant="default"
      leftSection={<CalendarOff size={14} />}
      onClick={() => setView({ dialog: "maintenance" })}
    >
      {t("maintenance.add")}
    </Button>
  );
  return (
    <Page
      title={t("schedules.title")}
      meta={
        <>
          {schedules.data && (
            <span className="num">{t("schedules.count", { count: schedules.data.length })}</span>
          )}{" "}
          <Link to="/oncall">{t("oncall.title")}</Link>
        </>
      }
      actions={
        <>
          {addWindow}
          {manages && schedules.data && schedules.data.length > 0 && add}
        </>
      }
    >
      {(view.q || (schedules.data?.length ?? 0) > MAX_UNSCROLLED_ROWS) && (
        <TextInput
          className={classes.search ?? ""}
          aria-label={t("schedules.search")}
          placeholder={t("schedules.search")}
          leftSection={<Search size={14} />}
          value={view.q}
          maxLength={100}
          onChange={(event) => setView({ q: event.currentTarget.value })}
        />
      )}
      <Panel flush>
        <QueryContent query={schedules} skeleton={<RowSkeleton rows={6} height={32} />}>
          {(rows) =>
            rows.some((schedule) => matchesSearch(schedule, view.q)) ? (
              <SchedulesTable
                schedules={rows.filter((schedule) => matchesSearch(schedule, view.q))}
                chosen={view.schedule}
                onChoose={(item) => setView({ schedule: item })}
              />
            ) : rows.length > 0 ? (
              <EmptyState title={t("schedules.noMatch")} />
            ) : (
              <EmptyState title={t("schedules.empty")} action={manages && add}>
                {t("schedules.emptyText")} {!manages && t("schedules.emptyViewer")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      {chosen && <ScheduleDetail schedule={chosen} onEdit={() => setView({ dialog: "edit" })} />}
      <Panel
        flush
        title={t("maintenance.title")}
        headerExtra={
          <Switch
            size="xs"
            label={t("maintenance.includeEnded")}
            checked={view.ended}
            onChange={(event) => setView({ ended: event.currentTarget.checked })}
          />
        }
      >
        <QueryContent query={windows} skeleton={<RowSkeleton rows={2} height={32} />}>
          {(rows) =>
            rows.length > 0 ? (
              <MaintenanceWindows windows={rows} />
            ) : (
              <EmptyState title={t("maintenance.empty")}>{t("maintenance.text")}</EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      {manages && view.dialog === "add" && <ScheduleDialog onClose={close} />}
      {manages && view.dialog === "edit" && chosen && (
        <ScheduleDialog key={chosen.id} schedule={chosen} onClose={close} />
      )}
      {can("maintenance.manage") && view.dialog === "maintenance" && <MaintenanceDialog onClose={close} />}
    </Page>
  );
}
