import { Button, Select } from "@mantine/core";
import { Stethoscope } from "lucide-react";
import { useState } from "react";
import type { Diagnosis } from "../../client/models";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon, Tag } from "../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../components/tables/DataTable";
import { VerdictIcon } from "../../components/VerdictIcon";
import { formatSeconds } from "../../core/text/format";
import { useOpenDialog } from "../../lib/dialogs";
import { useDiagnoses, useHosts, usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { textField, useUrlState } from "../../lib/urlState";
import classes from "./Diagnoses.module.css";

const FIELDS = { host: textField };
const PAGE = 100;
const MAX_ROWS = 200;

/** All diagnoses, or those of a host, each with its result in one line. */
export function DiagnosesPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const [{ host }, set] = useUrlState(FIELDS);
  const [limit, setLimit] = useState(PAGE);
  const hosts = useHosts();
  const query = useDiagnoses(host || undefined, limit);
  const start = can("capture.light") && (
    <Button
      leftSection={<Stethoscope size={14} />}
      onClick={() => openDialog("diagnose", host ? [host] : [])}
    >
      {t("diagnose.title")}
    </Button>
  );
  return (
    <Page
      title={t("nav.diagnoses")}
      actions={
        <>
          <Select
            size="xs"
            w={220}
            clearable
            searchable
            limit={80}
            placeholder={t("diagnoses.anyHost")}
            aria-label={t("diagnose.host")}
            data={hosts.data?.map((host) => ({ value: host.id, label: host.name })) ?? []}
            value={host || null}
            onChange={(next) => set({ host: next ?? "" })}
          />
          {start}
        </>
      }
    >
      <Panel flush>
        <QueryContent query={query} skeleton={<RowSkeleton rows={12} height={29} />}>
          {({ items, next }) =>
            items.length > 0 ? (
              <>
                <DiagnosesTable items={items} />
                {next && limit < MAX_ROWS && (
                  <Button variant="subtle" fullWidth onClick={() => setLimit(MAX_ROWS)}>
                    {t("action.more")}
                  </Button>
                )}
              </>
            ) : (
              <EmptyState title={host ? t("diagnoses.noneHere") : t("diagnoses.none")} action={start}>
                {t("diagnoses.noneText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
    </Page>
  );
}

function DiagnosesTable({ items }: { items: readonly Diagnosis[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <DataTable stack label={t("nav.diagnoses")}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("diagnose.host")}</th>
          <th>{t("captures.state")}</th>
          <th>{t("diagnoses.answer")}</th>
          <th>{t("diagnoses.scope")}</th>
          <th className="right">{t("diagnoses.stages")}</th>
          <th className="right">{t("diagnoses.duration")}</th>
          <th>{t("captures.began")}</th>
          <th>{t("captures.reason")}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((diagnosis) => (
          <tr key={diagnosis.id} className={rowLinkClass()}>
            <td className="num">
              <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: diagnosis.id }}>
                #{diagnosis.number}
              </Link>
            </td>
            <td>
              <Link to="/hosts/$hostId" params={{ hostId: diagnosis.host.id }}>
                {diagnosis.host.name}
              </Link>
            </td>
            <td>
              <RunStateIcon state={diagnosis.state} />
            </td>
            <td className={classes.short}>
              <DiagnosisSummary diagnosis={diagnosis} />
            </td>
            <td>
              <ScopeTag scope={diagnosis.scope} />
            </td>
            <td className="num right">{diagnosis.stages.length}</td>
            <td className="num right">{formatSeconds(diagnosis.elapsed_s)}</td>
            <td className="num">{time.iso(diagnosis.created_at)}</td>
            <td className={classes.reason}>{diagnosis.reason || <span className="dim">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

/** Result of a diagnosis in one line: its causes, its failure, or the current stage. */
function DiagnosisSummary({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const { state, result, failure, stages } = diagnosis;
  if (state === "running")
    return <span className="dim">{t("diagnoses.inStage", { n: Math.max(1, stages.length) })}</span>;
  if (failure) return <span>{formatMessage(failure)}</span>;
  if (!result) return <span className="dim">–</span>;
  if (result.causes.length === 0)
    return (
      <span className={classes.shortCause}>
        <VerdictIcon verdict="refutes" /> <span className="dim">{t("findings.noCause")}</span>
      </span>
    );
  return result.causes.map((namedCause) => (
    <span key={namedCause.id} className={classes.shortCause}>
      <VerdictIcon
        verdict={namedCause.confidence === "possible" ? "weak" : "supports"}
        label={t(`findings.confidence.${namedCause.confidence}`)}
      />
      <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: diagnosis.id }}>
        {names.cause(namedCause.id)}
      </Link>
    </span>
  ));
}

/** Scope of a diagnosis on its host. */
export function ScopeTag({ scope }: { scope: Diagnosis["scope"] }) {
  const { t } = useTranslation();
  if (!scope.kind || scope.kind === "host") return <span className="dim">{t("findings.wholeHost")}</span>;
  return (
    <Tag title={scope.value ?? ""}>
      {t(`diagnose.scopes.${scope.kind as "process"}`)} {scope.value}
    </Tag>
  );
}
