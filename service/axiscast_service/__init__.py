"""axiscast's service: every framework's broadcasting rule lowered to one plan, answered over HTTP.

request -> wire -> ops lower() -> Plan -> estimates -> engine -> wire -> response
"""
