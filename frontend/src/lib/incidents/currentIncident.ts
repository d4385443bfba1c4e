/** The incident that this tab looked at last, and its step: what one pins elsewhere most likely belongs to it. */

const KEY = "culprit.incident";

export interface Current {
  readonly incident: string;
  readonly step: string;
}

export function rememberIncident(current: Current): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // without storage the list of incidents is offered without a favourite
  }
}

export function currentIncident(): Current | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Partial<Current> | null;
    return stored?.incident ? { incident: stored.incident, step: stored.step ?? "" } : undefined;
  } catch {
    return undefined;
  }
}
