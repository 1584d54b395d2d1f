"""Opens a page in headless Chromium and reports problems: console messages, requests for anything except the page,
parts outside the window. It uses Chromium's DevTools protocol over two pipes.

    browser.py PAGE [--width N] [--dark] [--no-scripts] [--screenshot FILE.png [--height N]]

Exit 0: no problems; 1: problems on standard output; 77: Chromium is not installed.
"""
import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Browser:
    def __init__(self, profile):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            print("chromium is not installed")
            sys.exit(77)
        their_in, self.to = os.pipe()
        self.out, their_out = os.pipe()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                     "--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank"]
        # The program expects its pipes as descriptors 3 and 4.
        shell = f'exec "$0" "$@" 3<&{their_in} 4>&{their_out}'
        self.process = subprocess.Popen(["bash", "-c", shell, program, *arguments], pass_fds=(their_in, their_out),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        self.rest = b""
        self.number = 0
        self.events = []
        self.session = None

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.out, 1 << 20)
            if not part:
                sys.exit("chromium ended")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def seen(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]


def open_page(browser, options):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Network", "Log", "Runtime"):
        browser.call(domain + ".enable")
    browser.call("Emulation.setScriptExecutionDisabled", value=options.no_scripts)
    browser.call("Emulation.setDeviceMetricsOverride", width=options.width, height=900, deviceScaleFactor=1,
                 mobile=options.width < 600)
    scheme = "dark" if options.dark else "light"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=pathlib.Path(options.page).resolve().as_uri())
    browser.wait_for("Page.loadEventFired")
    # Chromium reports earlier requests and messages of the page before it answers this call.
    return browser.call("Page.getLayoutMetrics")["cssContentSize"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--width", type=int, default=1100)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--no-scripts", action="store_true")
    parser.add_argument("--screenshot")
    parser.add_argument("--height", type=int, help="of the screenshot, from the top [all of the page]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        size = open_page(browser, options)
        if options.screenshot:
            area = {"x": 0, "y": 0, "width": options.width, "height": options.height or size["height"],
                    "scale": 1}
            picture = browser.call("Page.captureScreenshot", clip=area, captureBeyondViewport=True)["data"]
            pathlib.Path(options.screenshot).write_bytes(base64.b64decode(picture))
        found = ["logged: " + entry["entry"]["text"] for entry in browser.seen("Log.entryAdded")]
        found += ["console: " + str(call["args"]) for call in browser.seen("Runtime.consoleAPICalled")]
        found += ["exception: " + str(thrown) for thrown in browser.seen("Runtime.exceptionThrown")]
        found += ["request: " + r["request"]["url"] for r in browser.seen("Network.requestWillBeSent")[1:]]
        if size["width"] > options.width:
            found.append(f"the page is {size['width']} wide in a window of {options.width}")
        browser.session = None
        browser.call("Browser.close")
        browser.process.wait(timeout=30)
    for line in found:
        print(line)
    return 1 if found else 0


sys.exit(main())
