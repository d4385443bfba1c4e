import { ActionIcon, Button, NumberInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { List, NetworkRule } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { get, post, remove, useAction } from "../../lib/queries";
import classes from "./Settings.module.css";

const KEY = ["network-rules"];

export function Networks() {
  const { t } = useTranslation();
  const [cidr, setCidr] = useState("");
  const [from, setFrom] = useState<number | string>(22);
  const [to, setTo] = useState<number | string>(22);
  const [note, setNote] = useState("");
  const rules = useQuery({
    queryKey: KEY,
    queryFn: () => get<List<NetworkRule>>("/network-rules", { limit: 200 }),
  });
  const add = useAction(
    () =>
      post<NetworkRule>(
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
      <Loaded query={rules}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t("settings.networks.none")} />
          ) : (
            <Grid label={t("settings.networks.title")}>
              <thead>
                <tr>
                  <th>{t("settings.networks.cidr")}</th>
                  <th>{t("settings.networks.ports")}</th>
                  <th>{t("settings.networks.note")}</th>
                  <th>
                    <span className="visually-hidden">{t("host.more")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((rule) => (
                  <tr key={rule.id}>
                    <td className="num">{rule.cidr}</td>
                    <td className="num">
                      {rule.port_from === rule.port_to ? rule.port_from : `${rule.port_from}–${rule.port_to}`}
                    </td>
                    <td>{rule.note || "–"}</td>
                    <td className="right">
                      <ActionIcon
                        size="sm"
                        onClick={() => drop.mutate(rule.id)}
                        aria-label={t("settings.remove", { name: rule.cidr })}
                        title={t("settings.remove", { name: rule.cidr })}
                      >
                        <Trash2 size={14} />
                      </ActionIcon>
                    </td>
                  </tr>
                ))}
              </tbody>
            </Grid>
          )
        }
      </Loaded>
    </Panel>
  );
}
