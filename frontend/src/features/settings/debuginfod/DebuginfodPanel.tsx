import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ConfirmDelete } from "../../../components/ConfirmDelete";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { Panel } from "../../../components/Page";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { get, post, remove, useAction } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Settings.module.css";
import { SettingsTable } from "../SettingsTable";

const KEY = ["debuginfod-servers"];

/** The servers that are requested for symbols of stripped programs, and what is sent to them. */
export function DebuginfodPanel() {
  const { t } = useTranslation();
  const [url, setUrl] = useState("");
  const servers = useQuery({
    queryKey: KEY,
    queryFn: () => get("/debuginfod-servers", { limit: 200 }),
  });
  const add = useAction(
    () => post("/debuginfod-servers", { url: url.trim() }, crypto.randomUUID()),
    [KEY],
    () => setUrl(""),
  );
  const drop = useAction((id: string) => remove(`/debuginfod-servers/${id}`), [KEY]);
  return (
    <Panel flush title={t("settings.debuginfod.title")}>
      <div className={classes.note}>
        <p>{t("settings.debuginfod.text")}</p>
        <p>
          <strong>{t("settings.debuginfod.sent")}</strong> {t("settings.debuginfod.notSent")}
        </p>
        <p>
          {t("settings.debuginfod.allow")}{" "}
          <Link to="/settings/$part" params={{ part: "networks" }}>
            {t("settings.networks.title")}
          </Link>
        </p>
      </div>
      <form
        className={classes.line}
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(undefined);
        }}
      >
        <TextInput
          size="xs"
          type="url"
          label={t("settings.debuginfod.url")}
          placeholder="https://debuginfod.example.org"
          required
          w={320}
          classNames={{ input: "mono" }}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!url.trim()} loading={add.isPending}>
          {t("action.add")}
        </Button>
        <ErrorLine error={add.error ?? drop.error} />
      </form>
      <SettingsTable
        label={t("settings.debuginfod.title")}
        query={servers}
        none={<EmptyState title={t("settings.debuginfod.none")} />}
        columns={[
          { head: t("settings.debuginfod.url"), className: "mono", cell: (server) => server.url },
          {
            head: t("settings.debuginfod.since"),
            cell: (server) => <RelativeTime at={server.created_at} />,
          },
        ]}
        renderActions={(server) => (
          <ConfirmDelete
            label={t("settings.remove", { name: server.url })}
            onClick={() => drop.mutate(server.id)}
          />
        )}
      />
    </Panel>
  );
}
