import { useEffect } from "react";
import { REAUTHENTICATED_KEY } from "../../lib/proof";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./SignInPage.module.css";

/** Redirect target after reauthentication: notifies the waiting tab through localStorage, and closes this tab. */
export function ReauthenticatedPage() {
  const { t } = useTranslation();
  useEffect(() => {
    localStorage.setItem(REAUTHENTICATED_KEY, String(Date.now()));
    localStorage.removeItem(REAUTHENTICATED_KEY);
    window.close();
  }, []);
  return (
    <main className={classes.frame}>
      <div className={classes.box}>
        <h1 className={classes.title}>{t("proof.done")}</h1>
        <p role="status">{t("proof.doneText")}</p>
      </div>
    </main>
  );
}
