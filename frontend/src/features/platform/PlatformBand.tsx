import { TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Ago } from "../../components/Ago";
import { listTroubles, type PlatformPart, usePlatformState } from "../../lib/platform";
import classes from "./PlatformBand.module.css";

/** Below the header while a part of the platform does not work: which, since when, what that means, what to do. */
export function PlatformBand() {
  const { data } = usePlatformState();
  const troubles = data ? listTroubles(data) : [];
  if (troubles.length === 0) return null;
  const isTemporary = troubles.every(([, part]) => part.state === "restarting" || part.state === "starting");
  return (
    <div className={classes.band} role="status" {...(isTemporary ? { "data-temporary": "" } : {})}>
      <TriangleAlert size={16} aria-hidden />
      <ul>
        {troubles.map(([name, part]) => (
          <Trouble key={name} name={name} part={part} />
        ))}
      </ul>
    </div>
  );
}

function Trouble({ name, part }: { name: string; part: PlatformPart }) {
  const { t } = useTranslation();
  const needsAction = part.state === "failed" || part.state === "not_seen" || part.state === "stopped";
  const end = part.out_of_memory
    ? t("platform.end.outOfMemory")
    : part.signal
      ? t("platform.end.signal", { signal: part.signal })
      : part.exit_code === undefined
        ? ""
        : t("platform.end.exitCode", { code: part.exit_code });
  return (
    <li>
      <strong>{t(`platform.state.${part.state}`, { part: t(`platform.part.${name}`) })}</strong>
      {end && part.state !== "stopped" && ` ${end}`}{" "}
      {part.since && (
        <span className="dim">
          <Ago at={part.since} />
        </span>
      )}{" "}
      {part.state !== "starting" && t(`platform.effect.${name}`)}
      {needsAction && ` ${t(`platform.action.${name === "schema" ? "schema" : part.state}`)}`}
    </li>
  );
}
