import { Button, NumberInput, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Host } from "../../client/models";
import { ConfirmDelete } from "../../components/ConfirmDelete";
import { ErrorLine } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { Link } from "../../components/Link";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { formatBytes } from "../../core/text/format";
import { get, post, remove, useAction, usePlans } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { UploadAddress } from "./api";
import classes from "./ImportDialog.module.css";

const KEY = ["uploads"];
const TONES: Record<UploadAddress["state"], Tone> = {
  open: "idle",
  receiving: "busy",
  used: "ok",
  revoked: "off",
  expired: "off",
  spent: "warn",
};

/** Form that creates an upload address for a single bundle, for a host with only a console; lists earlier addresses. */
export function UploadAddressForm({ hosts }: { hosts: readonly Host[] }) {
  const { t } = useTranslation();
  const names = useNames();
  const plans = usePlans().data ?? [];
  const [host, setHost] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [plan, setPlan] = useState("triage");
  const [minutes, setMinutes] = useState<number | string>(60);
  const [cap, setCap] = useState<number | string>(64);
  const make = useAction(
    () =>
      post(
        "/uploads",
        {
          ...(host ? { host_id: host } : { host_name: name.trim() }),
          plan,
          minutes: Number(minutes),
          max_mb: Number(cap),
        },
        crypto.randomUUID(),
      ),
    [KEY],
  );
  const placed = (host !== null) !== (name.trim() !== "");
  return (
    <div className={classes.bundle}>
      <strong>{t("import.push.title")}</strong>
      <p>{t("import.push.text")}</p>
      <form
        className={classes.push}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate(undefined);
        }}
      >
        <Select
          size="xs"
          label={t("import.push.host")}
          placeholder={t("import.push.hostHint")}
          data={hosts.map((host) => ({ value: host.id, label: host.name }))}
          value={host}
          onChange={setHost}
          searchable
          clearable
          limit={50}
        />
        <TextInput
          size="xs"
          label={t("import.push.name")}
          maxLength={100}
          disabled={host !== null}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          size="xs"
          label={t("import.push.plan")}
          data={plans
            .filter((plan) => plan.id !== "custom")
            .map((plan) => ({ value: plan.id, label: names.plan(plan.id) }))}
          value={plan}
          onChange={(value) => setPlan(value ?? "triage")}
          allowDeselect={false}
        />
        <NumberInput
          size="xs"
          label={t("import.push.minutes")}
          min={1}
          max={10_080}
          value={minutes}
          onChange={setMinutes}
        />
        <NumberInput
          size="xs"
          label={t("import.push.sizeLimit")}
          min={1}
          max={1024}
          value={cap}
          onChange={setCap}
        />
        <Button
          size="xs"
          type="submit"
          loading={make.isPending}
          disabled={!placed || minutes === "" || cap === ""}
        >
          {t("import.push.create")}
        </Button>
      </form>
      <ErrorLine error={make.error} />
      {make.data?.command && (
        <div role="status">
          <p>{t("import.push.copy")}</p>
          <CommandLine text={make.data.command} prompt />
        </div>
      )}
      <UploadAddressList />
    </div>
  );
}

const MAX_ROWS = 8;

function UploadAddressList() {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const time = useTimeFormat();
  const query = useQuery({
    queryKey: KEY,
    queryFn: () => get("/uploads", { limit: MAX_ROWS }),
    refetchInterval: 5_000,
  });
  const drop = useAction((id: string) => remove(`/uploads/${id}`), [KEY]);
  const rows = query.data?.items ?? [];
  if (query.error) return <ErrorLine error={query.error} />;
  if (rows.length === 0) return null;
  return (
    <>
      <ErrorLine error={drop.error} />
      <DataTable stack label={t("import.push.list")} maxHeight={240}>
        <thead>
          <tr>
            <th>{t("import.push.host")}</th>
            <th>{t("import.push.state")}</th>
            <th>{t("import.push.until")}</th>
            <th>{t("import.push.bytes")}</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {rows.map((uploadAddress) => (
            <tr key={uploadAddress.id}>
              <td>{uploadAddress.host_name}</td>
              <td>
                <StatusIcon tone={TONES[uploadAddress.state]}>
                  {t(`import.push.states.${uploadAddress.state}`)}
                </StatusIcon>
                {uploadAddress.failure && <div className="dim">{formatMessage(uploadAddress.failure)}</div>}
              </td>
              <td className="num">{time.iso(uploadAddress.expires_at)}</td>
              <td className="num">
                {uploadAddress.capture_id ? (
                  <Link to="/captures/$captureId" params={{ captureId: uploadAddress.capture_id }}>
                    {formatBytes(uploadAddress.bytes)}
                  </Link>
                ) : (
                  "–"
                )}
              </td>
              <td className="right">
                {(uploadAddress.state === "open" || uploadAddress.state === "receiving") && (
                  <ConfirmDelete
                    label={t("import.push.revoke", { name: uploadAddress.host_name })}
                    onClick={() => drop.mutate(uploadAddress.id)}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </>
  );
}
