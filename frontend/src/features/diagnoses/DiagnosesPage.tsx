import { Button, Select } from "@mantine/core";
import { Stethoscope } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Diagnosis } from "../../client/types";
import { Grid, rowLink } from "../../components/Grid";
import { Link } from "../../components/Link";
import { StateMark, Tag } from "../../components/Mark";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { Verdict } from "../../components/Verdict";
import { seconds } from "../../core/format";
import { useOpenDialog } from "../../lib/dialogs";
import { useSentence } from "../../lib/i18n";
import { useDiagnoses, useHosts, useMay } from "../../lib/queries";
import { textField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import classes from "./Diagnoses.module.css";

const FIELDS = { host: textField };
const PAGE = 100;
const MOST = 200;

/** Every question that was asked of a host, with its answer in one line. */
export function DiagnosesPage() {
  const { t } = useTranslation();
  const may = useMay();
  const openDialog = useOpenDialog();
  const [{ host }, set] = useUrlState(FIELDS);
  const [limit, setLimit] = useState(PAGE);
  const hosts = useHosts();
  const query = useDiagnoses(host || undefined, limit);
  const start = may("capture.light") && (
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
            data={hosts.data?.map((one) => ({ value: one.id, label: one.name })) ?? []}
            value={host || null}
            onChange={(next) => set({ host: next ?? "" })}
          />
          {start}
        </>
      }
    >
      <Panel flush>
        <Loaded query={query} skeleton={<RowSkeleton rows={12} height={29} />}>
          {({ items, next }) =>
            items.length > 0 ? (
              <>
                <Table items={items} />
                {next && limit < MOST && (
                  <Button variant="subtle" fullWidth onClick={() => setLimit(MOST)}>
                    {t("action.more")}
                  </Button>
                )}
              </>
            ) : (
              <Empty title={host ? t("diagnoses.noneHere") : t("diagnoses.none")} action={start}>
                {t("diagnoses.noneText")}
              </Empty>
            )
          }
        </Loaded>
      </Panel>
    </Page>
  );
}

function Table({ items }: { items: readonly Diagnosis[] }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <Grid stack label={t("nav.diagnoses")}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("diagnose.host")}</th>
          <th>{t("captures.state")}</th>
          <th>{t("diagnoses.answer")}</th>
          <th>{t("diagnoses.scope")}</th>
          <th className="right">{t("diagnoses.stages")}</th>
          <th className="right">{t("diagnoses.took")}</th>
          <th>{t("captures.began")}</th>
          <th>{t("captures.reason")}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((one) => (
          <tr key={one.id} className={rowLink()}>
            <td className="num">
              <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: one.id }}>
                #{one.number}
              </Link>
            </td>
            <td>
              <Link to="/hosts/$hostId" params={{ hostId: one.host.id }}>
                {one.host.name}
              </Link>
            </td>
            <td>
              <StateMark state={one.state} />
            </td>
            <td className={classes.short}>
              <Short diagnosis={one} />
            </td>
            <td>
              <ScopeTag scope={one.scope} />
            </td>
            <td className="num right">{one.stages.length}</td>
            <td className="num right">{seconds(one.elapsed_s)}</td>
            <td className="num">{time.iso(one.created_at)}</td>
            <td className={classes.reason}>{one.reason || <span className="dim">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}

/** The answer in one line. */
function Short({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  const { state, result, failure, stages } = diagnosis;
  if (state === "running")
    return <span className="dim">{t("diagnoses.inStage", { n: Math.max(1, stages.length) })}</span>;
  if (failure) return <span>{sentence(failure)}</span>;
  if (!result) return <span className="dim">–</span>;
  if (result.causes.length === 0)
    return (
      <span className={classes.shortCause}>
        <Verdict look="refutes" /> <span className="dim">{t("findings.noCause")}</span>
      </span>
    );
  return result.causes.map((one) => (
    <span key={one.id} className={classes.shortCause}>
      <Verdict
        look={one.confidence === "possible" ? "weak" : "supports"}
        label={t(`findings.confidence.${one.confidence}`)}
      />
      <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: diagnosis.id }}>
        {names.cause(one.id)}
      </Link>
    </span>
  ));
}

/** What on the host was asked about. */
export function ScopeTag({ scope }: { scope: Diagnosis["scope"] }) {
  const { t } = useTranslation();
  if (!scope.kind || scope.kind === "host") return <span className="dim">{t("findings.wholeHost")}</span>;
  return (
    <Tag title={scope.value ?? ""}>
      {t(`diagnose.scopes.${scope.kind as "process"}`)} {scope.value}
    </Tag>
  );
}
