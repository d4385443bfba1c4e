import { Button, TextInput } from "@mantine/core";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ReportPreset, ReportSummary } from "../../client/reports";
import { Ago } from "../../components/Ago";
import { Dialog } from "../../components/Dialog";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded, RowSkeleton } from "../../components/States";
import { useIncident } from "../../lib/incidents";
import { useMay } from "../../lib/queries";
import { useNewReport, useReports } from "../../lib/reports";
import { flagField, useUrlState } from "../../lib/urlState";
import { LanguageField, PresetField, ZoneField } from "./ReportFields";
import classes from "./Reports.module.css";

const FIELDS = { add: flagField };

/** The reports of one incident: what others read of it. */
export function ReportsPage() {
  const { incidentId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const may = useMay();
  const incident = useIncident(incidentId).data;
  const reports = useReports(incidentId);
  const [view, setView] = useUrlState(FIELDS);
  const begin = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
      {t("reports.new.open")}
    </Button>
  );
  const edits = may("report.edit");
  return (
    <Page
      title={t("reports.title")}
      above={
        <Link to="/incidents/$incidentId" params={{ incidentId } as never}>
          {incident ? `#${incident.number} ${incident.title}` : t("incidents.one")}
        </Link>
      }
      actions={edits && reports.data && reports.data.length > 0 && begin}
    >
      <Panel flush>
        <Loaded query={reports} skeleton={<RowSkeleton rows={4} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <Table reports={rows} />
            ) : (
              <Empty title={t("reports.none")} action={edits && begin}>
                {t("reports.noneText")}
              </Empty>
            )
          }
        </Loaded>
      </Panel>
      {view.add && incident && (
        <NewReport incident={incident.id} title={incident.title} onClose={() => setView({ add: false })} />
      )}
    </Page>
  );
}

function Table({ reports }: { reports: readonly ReportSummary[] }) {
  const { t } = useTranslation();
  return (
    <Grid stack label={t("reports.title")}>
      <thead>
        <tr>
          <th>{t("reports.field.title")}</th>
          <th>{t("reports.field.preset")}</th>
          <th>{t("reports.field.language")}</th>
          <th className="right">{t("reports.frozen")}</th>
          <th>{t("reports.changed")}</th>
        </tr>
      </thead>
      <tbody>
        {reports.map((one) => (
          <tr key={one.id}>
            <td>
              <Link to="/reports/$reportId" params={{ reportId: one.id } as never}>
                {one.title}
              </Link>
            </td>
            <td>{t(`reports.preset.${one.preset}`)}</td>
            <td>{t(`reports.language.${one.language}`)}</td>
            <td className="num right">{one.frozen}</td>
            <td>
              <Ago at={one.updated_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

function NewReport(props: { incident: string; title: string; onClose: () => void }) {
  const { t, i18n } = useTranslation();
  const navigate = useNavigate();
  const [title, setTitle] = useState(props.title);
  const [language, setLanguage] = useState<"en" | "zh">(i18n.language === "zh" ? "zh" : "en");
  const [zone, setZone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");
  const [preset, setPreset] = useState<ReportPreset>("customer");
  const make = useNewReport(
    props.incident,
    (made) => void navigate({ to: "/reports/$reportId", params: { reportId: made.id } } as never),
  );
  return (
    <Dialog onClose={props.onClose} title={t("reports.new.title")} size="36rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ title: title.trim(), language, zone, preset });
        }}
      >
        <TextInput
          label={t("reports.field.title")}
          required
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <div className={classes.row}>
          <PresetField value={preset} onChange={setPreset} />
          <LanguageField value={language} onChange={setLanguage} />
          <ZoneField value={zone} onChange={setZone} />
        </div>
        <p className={classes.note}>{t(`reports.presetText.${preset}`)}</p>
        <ErrorLine error={make.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={make.isPending} disabled={!title.trim()}>
            {t("reports.new.open")}
          </Button>
          <Button variant="default" onClick={props.onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
