import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Credential, List } from "../../client/types";
import { CopyButton } from "../../components/Copy";
import { Grid } from "../../components/Grid";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { get, remove, useAction } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./Settings.module.css";

const KEY = ["credentials"];

export function Credentials() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const credentials = useQuery({
    queryKey: [...KEY, "settings"],
    queryFn: () => get<List<Credential>>("/credentials", { limit: 200 }),
  });
  const drop = useAction((id: string) => remove(`/credentials/${id}`), [KEY]);
  return (
    <Panel flush title={t("settings.credentials.title")}>
      <p className={classes.note}>{t("settings.credentials.text")}</p>
      {drop.error && (
        <div className={classes.line}>
          <ErrorLine error={drop.error} />
        </div>
      )}
      <Loaded query={credentials}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t("settings.credentials.none")} />
          ) : (
            <Grid label={t("settings.credentials.title")}>
              <thead>
                <tr>
                  <th>{t("hosts.name")}</th>
                  <th>{t("credential.kind")}</th>
                  <th>{t("settings.credentials.public")}</th>
                  <th className="right">{t("nav.hosts")}</th>
                  <th>{t("settings.users.since")}</th>
                  <th>
                    <span className="visually-hidden">{t("host.more")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((one) => (
                  <tr key={one.id}>
                    <td>{one.name}</td>
                    <td>{t(`credential.kinds.${one.kind}`)}</td>
                    <td className={classes.detail}>
                      {one.public.fingerprint ?? one.public.authorized_keys_line ?? "–"}
                      {one.public.authorized_keys_line && (
                        <CopyButton
                          text={one.public.authorized_keys_line}
                          label={t("settings.credentials.copyLine")}
                        />
                      )}
                    </td>
                    <td className="num right">{one.hosts ?? "–"}</td>
                    <td className="num">{time.iso(one.created_at)}</td>
                    <td className="right">
                      <ActionIcon
                        size="sm"
                        onClick={() => drop.mutate(one.id)}
                        aria-label={t("settings.remove", { name: one.name })}
                        title={t("settings.remove", { name: one.name })}
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
