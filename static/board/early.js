// Sets the remembered colours before anything is painted; the only script that is not a module.
try {
  const theme = localStorage.getItem("rankcast.theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // the storage is closed to the page: the system's colours then
}
