import { Tooltip } from "@mantine/core";
import { PhoneCall } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Oncall } from "../client/schedules";
import { Link } from "../components/Link";
import { useOncall } from "../lib/schedules";
import { useTimeFormat } from "../lib/useFormat";
import classes from "./Shell.module.css";

/** Who is on call, in the head of every screen; nothing where no rotation was made. */
export function OnCallNow() {
  const { t } = useTranslation();
  const told = useOncall().data ?? [];
  if (told.length === 0) return null;
  const names = [...new Set(told.flatMap((one) => one.now.map((turn) => turn.who)))];
  const nobody = told.some((one) => one.now.length === 0);
  const text = names.length > 0 ? names.join(", ") : t("oncall.nobody");
  return (
    <Tooltip multiline label={told.map((one) => <Told key={one.rotation.id} one={one} />)}>
      <Link
        to="/oncall"
        underline="never"
        className={classes.oncall ?? ""}
        aria-label={`${t("oncall.title")}: ${text}`}
        {...(nobody ? { "data-nobody": "" } : {})}
      >
        <PhoneCall size={14} aria-hidden />
        <span>{text}</span>
      </Link>
    </Tooltip>
  );
}

function Told({ one }: { one: Oncall }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <div>
      {one.rotation.name}: {one.now.map((turn) => turn.who).join(", ") || t("oncall.nobody")}
      {one.next &&
        ` · ${t("oncall.next")} ${one.next.who} ${t("oncall.from", { at: time.iso(one.next.start) })}`}
    </div>
  );
}
