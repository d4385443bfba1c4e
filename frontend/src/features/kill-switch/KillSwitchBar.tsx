import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { OctagonX } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { KillSwitch } from "../../client/triggers";
import { Ago } from "../../components/Ago";
import { ErrorLine } from "../../components/States";
import { get, keys, post, useAction, useMay } from "../../lib/queries";
import classes from "./KillSwitch.module.css";

/** How soon every open screen knows, in milliseconds; nothing starts in between either, the server sees to that. */
const EVERY_MS = 5_000;
export const SWITCHES = ["kill-switches"] as const;

export const useKillSwitches = () =>
  useQuery({
    queryKey: SWITCHES,
    queryFn: () => get<KillSwitch[]>("/kill-switches"),
    refetchInterval: EVERY_MS,
  });

/** Where a switch holds, in words. */
export function usePlace(): (one: KillSwitch) => string {
  const { t } = useTranslation();
  return ({ kind, host, label }) => {
    if (kind === "host") return host?.name ?? "–";
    if (kind === "label")
      return Object.entries(label ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join(", ");
    return t("killSwitch.everywhere");
  };
}

/** Below the header of every screen while a kill switch is pulled: where, why, by whom, and the way back. */
export function KillSwitchBand() {
  const { t } = useTranslation();
  const may = useMay();
  const place = usePlace();
  const { data = [] } = useKillSwitches();
  const lift = useAction(
    (id: string) => post<KillSwitch>(`/kill-switches/${id}/lift`, {}),
    [SWITCHES, keys.captures],
  );
  if (data.length === 0) return null;
  return (
    <div className={classes.band} role="alert">
      <OctagonX size={16} aria-hidden />
      <strong>{t("killSwitch.holds")}</strong>
      {data.map((one) => (
        <span key={one.id} className={classes.one}>
          <span>
            {place(one)}
            {one.reason && `: ${one.reason}`}{" "}
            <span className="dim">
              {one.pulled_by?.name} <Ago at={one.created_at} />
            </span>
          </span>
          {may("kill_switch.manage") && (
            <Button
              size="compact-xs"
              variant="default"
              loading={lift.isPending && lift.variables === one.id}
              onClick={() => lift.mutate(one.id)}
              aria-label={t("killSwitch.liftOne", { place: place(one) })}
            >
              {t("killSwitch.lift")}
            </Button>
          )}
        </span>
      ))}
      <ErrorLine error={lift.error} />
    </div>
  );
}
