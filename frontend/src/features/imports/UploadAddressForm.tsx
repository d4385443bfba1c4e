import { Button, NumberInput, Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Host, List, UploadAddress } from "../../client/types";
import { CommandLine } from "../../components/Copy";
import { Drop } from "../../components/Drop";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { bytes } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { get, post, remove, useAction, usePlans } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
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

/** An address that takes one bundle, for a host that is reached only by its console; and what became of earlier ones. */
export function PushAddress({ hosts }: { hosts: readonly Host[] }) {
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
      post<UploadAddress>(
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
          data={hosts.map((one) => ({ value: one.id, label: one.name }))}
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
            .filter((one) => one.id !== "custom")
            .map((one) => ({ value: one.id, label: names.plan(one.id) }))}
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
          label={t("import.push.cap")}
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
          {t("import.push.make")}
        </Button>
      </form>
      <ErrorLine error={make.error} />
      {make.data?.command && (
        <div role="status">
          <p>{t("import.push.copy")}</p>
          <CommandLine text={make.data.command} prompt />
        </div>
      )}
      <Addresses />
    </div>
  );
}

const SHOWN = 8;

function Addresses() {
  const { t } = useTranslation();
  const sentence = useSentence();
  const time = useTimeFormat();
  const query = useQuery({
    queryKey: KEY,
    queryFn: () => get<List<UploadAddress>>("/uploads", { limit: SHOWN }),
    refetchInterval: 5_000,
  });
  const drop = useAction((id: string) => remove(`/uploads/${id}`), [KEY]);
  const rows = query.data?.items ?? [];
  if (query.error) return <ErrorLine error={query.error} />;
  if (rows.length === 0) return null;
  return (
    <>
      <ErrorLine error={drop.error} />
      <Grid stack label={t("import.push.list")} maxHeight={240}>
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
          {rows.map((one) => (
            <tr key={one.id}>
              <td>{one.host_name}</td>
              <td>
                <Mark tone={TONES[one.state]}>{t(`import.push.states.${one.state}`)}</Mark>
                {one.failure && <div className="dim">{sentence(one.failure)}</div>}
              </td>
              <td className="num">{time.iso(one.expires_at)}</td>
              <td className="num">
                {one.capture_id ? (
                  <Link to="/captures/$captureId" params={{ captureId: one.capture_id }}>
                    {bytes(one.bytes)}
                  </Link>
                ) : (
                  "–"
                )}
              </td>
              <td className="right">
                {(one.state === "open" || one.state === "receiving") && (
                  <Drop
                    label={t("import.push.revoke", { name: one.host_name })}
                    onClick={() => drop.mutate(one.id)}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
    </>
  );
}
