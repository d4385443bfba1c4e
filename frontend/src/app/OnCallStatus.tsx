import { Tooltip } from "@mantine/core";
import { PhoneCall } from "lucide-react";
import type { Oncall } from "../client/models";
import { Link } from "../components/Link";
import { useOncall } from "../lib/captures/schedules";
import { useTimeFormat } from "../lib/text/useFormat";
import { useTranslation } from "../lib/text/useTranslation";
import classes from "./Shell.module.css";

/** Render who is on call, in the header of each page. Renders nothing if there are no rotations. */
export function OnCallStatus() {
  const { t } = useTranslation();
  const rotations = useOncall().data ?? [];
  if (rotations.length === 0) return null;
  const names = [...new Set(rotations.flatMap((rotation) => rotation.now.map((turn) => turn.who)))];
  const isUnstaffed = rotations.some((rotation) => rotation.now.length === 0);
  const text = names.length > 0 ? names.join(", ") : t("oncall.unstaffed");
  return (
    <Tooltip
      multiline
      label={rotations.map((rotation) => <OnCallText key={rotation.rotation.id} oncall={rotation} />)}
    >
      <Link
        to="/oncall"
        underline="never"
        className={classes.oncall ?? ""}
        aria-label={`${t("oncall.title")}: ${text}`}
        {...(isUnstaffed ? { "data-unstaffed": "" } : {})}
      >
        <PhoneCall size={14} aria-hidden />
        <span>{text}</span>
      </Link>
    </Tooltip>
  );
}

function OnCallText({ oncall }: { oncall: Oncall }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <div>
      {oncall.rotation.name}: {oncall.now.map((turn) => turn.who).join(", ") || t("oncall.unstaffed")}
      {oncall.next &&
        ` · ${t("oncall.next")} ${oncall.next.who} ${t("oncall.from", { at: time.iso(oncall.next.start) })}`}
    </div>
  );
}
