import { TriangleAlert } from "lucide-react";
import { RelativeTime } from "../components/text/RelativeTime";
import { type FailingPart, listFailingParts, usePlatformState } from "../lib/platform";
import { useTranslation } from "../lib/text/useTranslation";
import classes from "./PlatformStatusBar.module.css";

/** Render the failing parts of the platform: part, time of failure, impact and next action. Empty if all work. */
export function PlatformStatusBar() {
  const { data } = usePlatformState();
  const troubles = data ? listFailingParts(data) : [];
  if (troubles.length === 0) return null;
  const isTemporary = troubles.every(({ state }) => state === "restarting" || state === "starting");
  return (
    <div className={classes.band} role="status" {...(isTemporary ? { "data-temporary": "" } : {})}>
      <TriangleAlert size={16} aria-hidden />
      <ul>
        {troubles.map((trouble) => (
          <FailingPartItem key={trouble.name} trouble={trouble} />
        ))}
      </ul>
    </div>
  );
}

function FailingPartItem({ trouble: { name, state, part } }: { trouble: FailingPart }) {
  const { t } = useTranslation();
  const needsAction = state === "failed" || state === "not_seen" || state === "stopped";
  const end = part.out_of_memory
    ? t("platform.end.outOfMemory")
    : part.signal
      ? t("platform.end.signal", { signal: part.signal })
      : part.exit_code === undefined
        ? ""
        : t("platform.end.exitCode", { code: part.exit_code });
  return (
    <li>
      <strong>{t(`platform.state.${state}`, { part: t(`platform.part.${name}`) })}</strong>
      {part.since && (
        <span className="dim">
          {" "}
          (<RelativeTime at={part.since} />)
        </span>
      )}
      {end && state !== "stopped" && ` ${end}`} {state !== "starting" && t(`platform.effect.${name}`)}
      {needsAction && ` ${t(`platform.action.${name === "schema" ? "schema" : state}`)}`}
    </li>
  );
}
