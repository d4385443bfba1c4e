import { NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { SecretField } from "../../components/fields/SecretField";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ServiceDraft, SourceKind } from "./serviceDraft";
import classes from "./services.module.css";

const KINDS: readonly SourceKind[] = ["none", "prometheus", "access_log", "accepts"];
const MISSING: Record<SourceKind, readonly ("rate" | "errors" | "latency")[]> = {
  none: ["rate", "errors", "latency"],
  prometheus: [],
  access_log: [],
  accepts: ["errors", "latency"],
};
const EXAMPLES = {
  rate: "sum by (route) (rate(http_requests_total[1m]))",
  errors: 'sum by (route) (rate(http_requests_total{code=~"5.."}[1m]))',
  latency:
    "histogram_quantile($quantile, sum by (le, route) (rate(http_request_duration_seconds_bucket[1m])))",
};

interface Props {
  draft: ServiceDraft;
  hasToken: boolean;
  onChange: (change: Partial<ServiceDraft>) => void;
}

/** Form fields of a metric source, with the verdicts that will be inconclusive with it. */
export function SourceFields({ draft, hasToken, onChange }: Props) {
  const { t } = useTranslation();
  const missing = MISSING[draft.kind];
  return (
    <div className={classes.source}>
      <Select
        label={t("services.source")}
        description={t(`services.sourceText.${draft.kind}`)}
        data={KINDS.map((value) => ({ value, label: t(`services.sources.${value}`) }))}
        value={draft.kind}
        onChange={(kind) => kind && onChange({ kind: kind as SourceKind })}
        allowDeselect={false}
      />
      {draft.kind === "prometheus" && (
        <PrometheusFields draft={draft} hasToken={hasToken} onChange={onChange} />
      )}
      {draft.kind === "access_log" && (
        <div className={classes.row}>
          <TextInput
            label={t("services.path")}
            placeholder="/var/log/nginx/access.log"
            value={draft.path}
            onChange={(event) => onChange({ path: event.currentTarget.value })}
          />
          <TextInput
            label={t("services.format")}
            value={draft.format}
            onChange={(event) => onChange({ format: event.currentTarget.value })}
          />
        </div>
      )}
      {draft.kind === "accepts" && (
        <NumberInput
          label={t("services.port")}
          min={1}
          max={65535}
          value={draft.port}
          onChange={(port) => onChange({ port })}
        />
      )}
      {missing.length > 0 && (
        <p className={classes.warn} role="note">
          {t("services.missingText", {
            what: missing.map((item) => t(`services.missingOf.${item}`)).join(", "),
          })}
        </p>
      )}
    </div>
  );
}

function PrometheusFields({ draft, hasToken, onChange }: Props) {
  const { t } = useTranslation();
  return (
    <>
      <TextInput
        label={t("services.url")}
        description={t("services.urlText")}
        placeholder="http://10.40.0.9:9090"
        value={draft.url}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
      />
      {(["rate", "errors", "latency"] as const).map((name) => (
        <Textarea
          key={name}
          label={t(`services.queries.${name}`)}
          {...(name === "rate" ? { description: t("services.queryText") } : {})}
          classNames={{ input: "mono" }}
          placeholder={EXAMPLES[name]}
          autosize
          minRows={2}
          value={draft[name]}
          onChange={(event) => onChange({ [name]: event.currentTarget.value })}
        />
      ))}
      <div className={classes.row}>
        <Select
          label={t("services.unit")}
          data={(["s", "ms"] as const).map((value) => ({ value, label: t(`services.units.${value}`) }))}
          value={draft.latencyUnit}
          onChange={(unit) => unit && onChange({ latencyUnit: unit as "s" | "ms" })}
          allowDeselect={false}
        />
        <SecretField
          label={t("services.token")}
          description={t(hasToken ? "services.tokenKept" : "services.tokenText")}
          autoComplete="new-password"
          value={draft.token}
          onChange={(event) => onChange({ token: event.currentTarget.value })}
        />
      </div>
    </>
  );
}
