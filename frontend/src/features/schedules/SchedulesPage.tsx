import { Button, Switch, TextInput } from "@mantine/core";
import { CalendarOff, Plus, Search } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useMay } from "../../lib/queries";
import { useSchedules, useWindows } from "../../lib/schedules";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { ScheduleDetail } from "./ScheduleDetail";
import { ScheduleDialog } from "./ScheduleDialog";
import { FEW, fits, SchedulesTable } from "./SchedulesTable";
import classes from "./schedules.module.css";
import { WindowDialog } from "./WindowDialog";
import { Windows } from "./Windows";

const FIELDS = {
  q: textField,
  one: textField,
  act: choiceField(["", "add", "edit", "hold"], ""),
  over: flagField,
};

/** What is captured while nobody watches, and when it is not. */
export function SchedulesPage() {
  const { t } = useTranslation();
  const may = useMay();
  const [view, setView] = useUrlState(FIELDS);
  const schedules = useSchedules();
  const windows = useWindows(view.over);
  const manages = may("schedule.manage");
  const chosen = schedules.data?.find((one) => one.id === view.one);
  const close = () => setView({ act: "" });
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ act: "add" })}>
      {t("schedules.add")}
    </Button>
  );
  const hold = may("maintenance.manage") && (
    <Button
      variant="default"
      leftSection={<CalendarOff size={14} />}
      onClick={() => setView({ act: "hold" })}
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
          {hold}
          {manages && schedules.data && schedules.data.length > 0 && add}
        </>
      }
    >
      {(view.q || (schedules.data?.length ?? 0) > FEW) && (
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
        <Loaded query={schedules} skeleton={<RowSkeleton rows={6} height={32} />}>
          {(rows) =>
            rows.some((one) => fits(one, view.q)) ? (
              <SchedulesTable
                schedules={rows.filter((one) => fits(one, view.q))}
                chosen={view.one}
                onChoose={(one) => setView({ one })}
              />
            ) : rows.length > 0 ? (
              <Empty title={t("schedules.noneFit")} />
            ) : (
              <Empty title={t("schedules.empty")} action={manages && add}>
                {t("schedules.emptyText")} {!manages && t("schedules.emptyViewer")}
              </Empty>
            )
          }
        </Loaded>
      </Panel>
      {chosen && <ScheduleDetail schedule={chosen} onEdit={() => setView({ act: "edit" })} />}
      <Panel
        flush
        title={t("maintenance.title")}
        aside={
          <Switch
            size="xs"
            label={t("maintenance.over")}
            checked={view.over}
            onChange={(event) => setView({ over: event.currentTarget.checked })}
          />
        }
      >
        <Loaded query={windows} skeleton={<RowSkeleton rows={2} height={32} />}>
          {(rows) =>
            rows.length > 0 ? (
              <Windows windows={rows} />
            ) : (
              <Empty title={t("maintenance.empty")}>{t("maintenance.text")}</Empty>
            )
          }
        </Loaded>
      </Panel>
      {manages && view.act === "add" && <ScheduleDialog onClose={close} />}
      {manages && view.act === "edit" && chosen && (
        <ScheduleDialog key={chosen.id} schedule={chosen} onClose={close} />
      )}
      {may("maintenance.manage") && view.act === "hold" && <WindowDialog onClose={close} />}
    </Page>
  );
}
