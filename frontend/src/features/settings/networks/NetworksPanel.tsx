import { Button, NumberInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { get, post, remove, useAction } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { NetworkRule } from "../api";
import classes from "../Settings.module.css";
import { SettingsTable } from "../SettingsTable";

const KEY = ["network-rules"];

const ports = ({ port_from, port_to }: NetworkRule) =>
  port_from === port_to ? port_from : `${port_from}–${port_to}`;

export function NetworksPanel() {
  const { t } = useTranslation();
  const [cidr, setCidr] = useState("");
  const [from, setFrom] = useState<number | string>(22);
  const [to, setTo] = useState<number | string>(22);
  const [note, setNote] = useState("");
  const rules = useQuery({
    queryKey: KEY,
    queryFn: () => get("/network-rules", { limit: 200 }),
  });
  const add = useAction(
    () =>
      post(
        "/network-rules",
        { cidr: cidr.trim(), port_from: Number(from), port_to: Number(to), note },
        crypto.randomUUID(),
      ),
    [KEY],
    () => {
      setCidr("");
      setNote("");
    },
  );
  const drop = useAction((id: string) => remove(`/network-rules/${id}`), [KEY]);
  return (
    <Panel flush title={t("settings.networks.title")}>
      <p className={classes.note}>{t("settings.networks.text")}</p>
      <form
        className={classes.line}
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(undefined);
        }}
      >
        <TextInput
          size="xs"
          label={t("settings.networks.cidr")}
          placeholder="10.40.0.0/16"
          required
          classNames={{ input: "mono" }}
          value={cidr}
          onChange={(event) => setCidr(event.currentTarget.value)}
        />
        <NumberInput
          size="xs"
          label={t("settings.networks.from")}
          min={1}
          max={65535}
          value={from}
          onChange={setFrom}
          w={100}
        />
        <NumberInput
          size="xs"
          label={t("settings.networks.to")}
          min={1}
          max={65535}
          value={to}
          onChange={setTo}
          w={100}
        />
        <TextInput
          size="xs"
          label={t("settings.networks.note")}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!cidr.trim()} loading={add.isPending}>
          {t("action.add")}
        </Button>
        <ErrorLine error={add.error ?? drop.error} />
      </form>
      <SettingsTable
        label={t("settings.networks.title")}
        query={rules}
        none={<EmptyState title={t("settings.networks.none")} />}
        columns={[
          { head: t("settings.networks.cidr"), className: "num", cell: (rule) => rule.cidr },
          { head: t("settings.networks.ports"), className: "num", cell: ports },
          { head: t("settings.networks.note"), cell: (rule) => rule.note || "–" },
        ]}
        renderActions={(rule) => (
          <ConfirmDelete
            label={t("settings.remove", { name: rule.cidr })}
            onClick={() => drop.mutate(rule.id)}
          />
        )}
      />
    </Panel>
  );
}
